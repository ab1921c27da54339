import type { ActivityScope, Instrument } from '../../dispatcher/index.ts'
import { isSubAgent } from '../sub-agent.ts'

/** Knows in which tool another one was called: by its own code, or by an agent that it asked. */
export class Enclosing implements Instrument {
  /** By scope, the tool that what lies below it is called in. */
  readonly #below = new WeakMap<ActivityScope, string>()
  /** The same, by call. */
  readonly #ofCall = new Map<string, string>()
  readonly #open = new Set<string>()
  #seen = false

  /** Whether anything has run. */
  get seen(): boolean {
    return this.#seen
  }

  /** Tools that run still. */
  get open(): readonly string[] {
    return [...this.#open].map((key) => key.slice(key.lastIndexOf('\n') + 1))
  }

  start(...[activity, { operationId }, parent]: Parameters<Instrument['start']>): ActivityScope {
    const tool = parent && this.#below.get(parent)
    const isTool = activity.kind === 'tool'
    this.#seen = true
    const key = isTool ? `${keyOf(operationId, activity.callKey)}\n${activity.apiName}` : ''
    if (isTool) this.#open.add(key)
    const scope: ActivityScope = { run: (fn) => fn(), end: () => void this.#open.delete(key) }
    if (isTool && tool !== undefined) this.#ofCall.set(keyOf(operationId, activity.callKey), tool)
    // An agent runs in a replay, too, and makes its calls.
    const below = isTool && !isSubAgent(activity) ? activity.apiName : tool
    if (below !== undefined) this.#below.set(scope, below)
    return scope
  }

  /** The tool that ran when the call was made. */
  of({ operationId, callKey }: { operationId: string; callKey?: string }): string | undefined {
    return this.#ofCall.get(keyOf(operationId, callKey))
  }
}

const keyOf = (operationId: string, callKey: string | undefined) => `${operationId}\n${callKey}`
