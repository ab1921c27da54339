import { AsyncLocalStorage } from 'node:async_hooks'
import type { ParkedOperation, ToolOutcome } from '../../dispatcher/index.ts'
import type { ToolSource } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { ObservedRun, type RunHost, type SaidOfRun } from '../sdk-run/observed-run.ts'
import { runWith } from '../sdk-run/run-with.ts'

const frames = new AsyncLocalStorage<MastraRun>()

type Refused = Map<string, ToolOutcome>

/** Of runs that wait in this process. */
const refusedIn = new WeakMap<ParkedOperation, Refused>()

/** Who observes, and how. */
export interface MastraHost extends RunHost {
  readonly sdkSpans?: 'omit' | 'nest'
}

export interface ToolHome {
  readonly source?: ToolSource
  readonly identifier?: string
}

/** One call of an agent, and what is known of it while it goes on. */
export class MastraRun {
  readonly run: ObservedRun
  readonly host: MastraHost
  readonly #said: SaidOfRun
  /** The tools between which and the model we are. */
  readonly tools = new Set<string>()
  /** Models whose calls are the run's. */
  readonly models = new WeakSet()
  /** The MCP servers of tools, by the names of these: Mastra drops that when it makes them its own. */
  readonly servers = new Map<string, string>()
  /** Calls that stopped the loop themselves, by their ids. */
  readonly suspended = new Set<string>()
  /** How calls ended, by their ids, about which Mastra asks a human though a gate has decided: they are made once that has answered. */
  readonly refused: Refused
  /** What the SDK was called with: who calls it once more with that, as `hookspan/register` does, makes no second run. */
  given: object | undefined
  /** Why a run was refused: Mastra puts what is thrown into errors of its own. */
  refusal: HookspanError | undefined
  readonly #atWork = new Set<Promise<unknown>>()
  #turns = 0
  #answered = true

  constructor(host: MastraHost, said: SaidOfRun) {
    this.host = host
    this.#said = said
    this.run = new ObservedRun(host, said)
    const { resumed, parked } = this.run
    this.refused = (resumed && refusedIn.get(resumed)) ?? new Map()
    parked.then((to) => to && refusedIn.set(to, this.refused)).catch(() => {})
  }

  /** The run of which the running code is part. */
  static get current(): MastraRun | undefined {
    return frames.getStore()
  }

  /** A run below this one, which it may outlive. */
  async below(signal: AbortSignal | undefined): Promise<MastraRun> {
    const { agentName, conversationId } = this.#said
    const parent = (await this.run.calls()).parent()
    const said = defined({ agentName, conversationId, signal })
    return parent === undefined
      ? new MastraRun(this.host, said)
      : runWith({ parent }, () => new MastraRun(this.host, said))
  }

  /** Runs code of the SDK as part of the run. */
  within<T>(fn: () => T): T {
    return this.run.run(() => frames.run(this, fn))
  }

  /** Where one of its tools is at home. */
  homeOf(name: string): ToolHome {
    const identifier = this.servers.get(name)
    if (identifier !== undefined) return { source: 'mcp', identifier }
    return name.startsWith('agent-') ? { source: 'agent' } : {}
  }

  /** Tools that are decided on or run. Of a stream, Mastra may begin them beside one about which it asks a human. */
  working<T>(call: Promise<T>): Promise<T> {
    this.#atWork.add(call)
    const over = () => void this.#atWork.delete(call)
    call.then(over, over)
    return call
  }

  /** None of them is at work any more. */
  async idle(): Promise<void> {
    while (this.#atWork.size > 0) await Promise.allSettled(this.#atWork)
  }

  /** The model is asked. What was asked before has been answered, or this is one more try of the same. */
  async turn(): Promise<void> {
    if (!this.#answered) return
    this.#answered = false
    await this.run.beginStep(this.#turns++)
  }

  answered(): void {
    this.#answered = true
  }

  /** Notes what refuses the run, on its way through the SDK. */
  async noted<T>(fn: () => Promise<T>): Promise<T> {
    try {
      return await fn()
    } catch (error) {
      if (error instanceof HookspanError) this.refusal ??= error
      throw error
    }
  }
}
