import { callsHere, coreOf, parentFor } from '../../dispatcher/calls/call-maker.ts'
import type {
  CallAgentInit,
  CallMaker,
  CompactInit,
  CompactResult,
  HookDispatcher,
  HumanInterventionInit,
  LlmCallInit,
  LlmFunction,
  ParentOperation,
  ToolCallInit,
  ToolFunction,
  ToolOutcome,
  ToolOutOfReach,
} from '../../dispatcher/index.ts'
import { type AdapterInfo, assertCapable } from '../../dispatcher/run/capabilities.ts'
import { Failures, Once } from './failures.ts'
import { SafeAgentCall, SafeCompaction, SafeHuman } from './held-calls.ts'
import { SafeModelCall } from './model-call.ts'
import { refusedCall, SafeToolCall, unseenContext, unseenOutcome } from './tool-call.ts'

/**
 * From where an adapter makes its calls: a {@link CallMaker}, but where hookspan itself fails the agent goes on as if it
 * was not observed. Only where a gate, a mock or a human was to have a say is the call refused instead: nothing that
 * should be decided on goes through because we failed.
 */
export class SafeCalls {
  protected readonly failures: Failures
  readonly #calls: CallMaker | undefined

  /** @param calls undefined for a run that could not be started, and that nobody was to decide on. */
  constructor(calls: CallMaker | undefined) {
    this.#calls = calls
    this.failures = new Failures(calls && coreOf(calls))
  }

  /** Nothing can be called from here any more: the run has ended. */
  get over(): boolean {
    return this.failures.core?.ended === true
  }

  #opened<C>(open: (calls: CallMaker) => C): C | undefined {
    const calls = this.#calls
    return calls && this.failures.quietly(() => open(calls))
  }

  async llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    const asked = new Once(fn)
    try {
      if (this.#calls !== undefined) return await this.#calls.llmCall(init, asked.run)
    } catch (error) {
      if (this.failures.isMeant(error) || (await asked.rejectedWith(error))) throw error
      this.failures.note(error)
    }
    if (asked.began) this.failures.refuse('Model call', 'afterLlmCall')
    else this.failures.refuse('Model call', 'onStart', 'beforeLlmCall', 'afterLlmCall')
    const { core } = this.failures
    return asked.run(init.request, { signal: core?.signal, traceparent: undefined, gated: false })
  }

  assertInReach(tools: readonly ToolOutOfReach[]): void {
    try {
      this.#calls?.assertInReach(tools)
    } catch (error) {
      this.failures.note(error)
      if (tools.length > 0) this.failures.refuse('Tools out of reach', 'beforeToolCall', 'afterToolCall')
    }
  }

  /** Refuses guards that cannot hold in what is done from here. @throws HookspanError `NOT_CAPABLE`. */
  assertCapable(adapter: AdapterInfo): void {
    const { core } = this.failures
    if (core !== undefined) assertCapable(adapter, core.allGates(), false)
  }

  async toolCall<A, R>(init: ToolCallInit<A>, fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    const ran = new Once(fn)
    try {
      if (this.#calls !== undefined) return await this.#calls.toolCall(init, ran.run)
    } catch (error) {
      this.failures.note(error)
    }
    const refused = refusedCall<A, R>(this.failures, init)
    if (refused !== undefined) return refused
    const context = unseenContext(this.failures, init)
    return unseenOutcome<A, R>(this.failures, init, () => ran.run(init.args, context))
  }

  /** Tells of a call that the SDK answered itself, with a failure, before any tool could run. */
  async failedCall<A>(init: ToolCallInit<A>, error: unknown): Promise<void> {
    await this.toolCall<A, never>({ ...init, failed: { error } }, () => Promise.reject(error))
  }

  openToolCall<A, R = unknown>(init: ToolCallInit<A>): SafeToolCall<A, R> {
    const call = this.#opened((calls) => calls.openToolCall<A, R>(init))
    return new SafeToolCall<A, R>(this.failures, init, call)
  }

  openLlmCall<R = unknown>(init: LlmCallInit<R>): SafeModelCall<R> {
    const call = this.#opened((calls) => calls.openLlmCall<R>(init))
    return new SafeModelCall<R>(this.failures, init, call)
  }

  openAgentCall<R = unknown>(init: CallAgentInit): SafeAgentCall<R> {
    const call = this.#opened((calls) => calls.openAgentCall<R>(init))
    // The gates of this run hold in the agent's all the same.
    const unseen = () => ({ instruction: init.instruction, parent: this.parent() as ParentOperation })
    return new SafeAgentCall<R>(this.failures, unseen, call)
  }

  /** What makes a run one that belongs here: below this place in its trace, under the same gates. */
  parent(): ParentOperation | undefined {
    return this.#opened(parentFor)
  }

  openCompaction<R extends CompactResult = CompactResult>(init: CompactInit): SafeCompaction<R> {
    return new SafeCompaction<R>(
      this.failures,
      this.#opened((calls) => calls.openCompaction<R>(init)),
    )
  }

  openHumanIntervention(init: HumanInterventionInit): SafeHuman {
    return new SafeHuman(
      this.failures,
      this.#opened((calls) => calls.openHumanIntervention(init)),
    )
  }
}

/**
 * Makes calls from where the running code is. Undefined where no operation runs.
 *
 * @param dispatcher of the adapter, where what it observes may run inside of another SDK's run.
 */
export function currentCalls(dispatcher?: HookDispatcher): SafeCalls | undefined {
  const calls = callsHere(dispatcher)
  return calls && new SafeCalls(calls)
}
