import {
  type Activity,
  type ActivityEnd,
  type ActivityScope,
  HookDispatcher,
  type Plugin,
} from '../../dispatcher/index.ts'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, type HookEvent } from '../../hooks/index.ts'
import { requestContent } from '../../wire/request.ts'

interface Node {
  readonly activity: Activity
  readonly children: Node[]
  end: ActivityEnd | undefined
}

/** What a run told, in words that are the same for every SDK. Plain JSON, so that another process can hand it over. */
export interface RunRecord {
  /** One line an activity, children below their parents. */
  readonly tree: readonly string[]
  /** The hook types, in the order in which they fired. */
  readonly hooks: readonly string[]
  /** What the model was told as the results of its calls, in the last request. */
  readonly told: readonly string[]
  /** `sequence` of all events had no gap, and nothing was left open. */
  readonly whole: boolean
}

/** A dispatcher of which all is written down. */
export class Recorder {
  readonly dispatcher = new HookDispatcher()
  readonly #roots: Node[] = []
  readonly #all: Node[] = []
  readonly #events: HookEvent[] = []
  readonly #steps: boolean

  /** `steps`: false for an adapter that tells none. */
  constructor(steps: boolean, firstSequence = 0) {
    this.#steps = steps
    this.#firstSequence = firstSequence
    this.dispatcher.use(this.#plugin())
  }

  readonly #firstSequence: number

  #plugin(): Plugin {
    const nodes = new WeakMap<ActivityScope, Node>()
    return {
      name: 'contract',
      hooks: [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
        id: `contract-${type}`,
        type,
        handler: (event: HookEvent) => void this.#events.push(event),
      })),
      instrument: {
        start: (activity, _operation, parent) => {
          const node: Node = { activity, children: [], end: undefined }
          const scope: ActivityScope = {
            run: (fn) => fn(),
            end: (end) => {
              node.end = end
            },
          }
          nodes.set(scope, node)
          this.#all.push(node)
          const above = parent && nodes.get(parent)
          ;(above === undefined ? this.#roots : above.children).push(node)
          return scope
        },
      },
    }
  }

  record(): RunRecord {
    return {
      tree: this.#roots.flatMap((root) => this.#lines(root, 0)),
      hooks: this.#events.map(({ hookType }) => hookType),
      told: this.#told(),
      whole: this.#all.every(({ end }) => end !== undefined) && this.#gapless(),
    }
  }

  /** The next event's place, for a run that goes on elsewhere. */
  get nextSequence(): number {
    return Math.max(this.#firstSequence, ...this.#events.map(({ sequence }) => sequence + 1))
  }

  #gapless(): boolean {
    const next = new Map<string, number>()
    return this.#events.every(({ operationId, sequence, parentOperationId }) => {
      const first = parentOperationId === undefined ? this.#firstSequence : sequence
      const expected = next.get(operationId) ?? first
      next.set(operationId, sequence + 1)
      return sequence === expected
    })
  }

  #told(): string[] {
    const asked = this.#events.filter((event) => event.hookType === 'beforeLlmCall')
    const last = asked.findLast(({ parentOperationId }) => parentOperationId === undefined)
    if (last === undefined) return []
    return requestContent(last.request).messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'tool_call_response' ? textOf(part.response) : [])),
    )
  }

  #lines(node: Node, depth: number): string[] {
    if (node.activity.kind === 'step' && !this.#steps) {
      return node.children.flatMap((child) => this.#lines(child, depth))
    }
    const line = `${'  '.repeat(depth)}${nameOf(node.activity)}${endOf(node.end)}`
    return [line, ...node.children.flatMap((child) => this.#lines(child, depth + 1))]
  }
}

function textOf(response: unknown): string {
  return typeof response === 'string' ? response : JSON.stringify(response)
}

function nameOf(activity: Activity): string {
  switch (activity.kind) {
    case 'operation':
      return 'run'
    case 'step':
      return `step ${activity.stepIndex}`
    case 'llm':
      return 'model'
    case 'tool':
      return `tool ${activity.apiName}`
    case 'agent':
      return `agent ${activity.agentName ?? activity.agentId}`
    case 'human':
    case 'compact':
    case 'gate':
      return activity.kind
  }
}

function endOf(end: ActivityEnd | undefined): string {
  if (end === undefined) return ' [open]'
  switch (end.kind) {
    case 'operation':
      return ` [${end.reason ?? `waiting for ${end.waitingFor}`}]`
    case 'tool':
      return ` [${end.outcome}]`
    case 'human':
      return ` [${end.action ?? 'waiting'}]`
    case 'llm':
      return end.error !== undefined ? ' [failed]' : end.streamEnd === 'abandoned' ? ' [abandoned]' : ''
    default:
      return end.error !== undefined ? ' [failed]' : ''
  }
}
