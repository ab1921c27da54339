import type { EventInit, TokenUsage } from '../../hooks/index.ts'
import type { LlmReading } from '../../wire/reading.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { currentPlace } from '../run/current.ts'
import type { CallSite, LlmNote, OperationCore } from '../run/operation-core.ts'
import type { ParentOperation, SavedStep } from '../run/operation-init.ts'
import { addOptional, addUsage } from '../run/usage.ts'
import { type CallAgentInit, runCallAgent } from './call-agent.ts'
import { type CompactInit, type CompactResult, runCompact } from './compact.ts'
import { type LlmCallInit, type LlmFunction, runLlmCall } from './llm-call.ts'
import { runToolCall } from './tool-call.ts'
import type { ToolCallInit, ToolFunction } from './tool-call-init.ts'
import type { ToolOutcome } from './tool-outcome.ts'

/** What a runtime may add to a step's `afterStep`. */
export interface StepReport {
  /** False when this was the last step. */
  shouldContinue?: boolean
  content?: string
  reasoning?: string
}

/** From where calls are made: a step, or the operation itself. Several calls may run at once. */
export class CallMaker {
  readonly #core: OperationCore
  readonly #site: CallSite

  constructor(core: OperationCore, site: CallSite) {
    this.#core = core
    this.#site = site
  }

  /**
   * Makes a model call. Gives what `fn` gives, the same object, and throws what it throws; a stream's call ends
   * when the stream is read, fails or is abandoned.
   *
   * @throws HookspanError `CALL_DENIED` when a gate refused it and there is no `standIn`.
   */
  llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    return runLlmCall(this.#core, this.#site, init, fn)
  }

  /**
   * Makes a tool call: gates, hooks, mocks, the tool, gates, hooks. Never throws for what any of them did.
   *
   * @throws HookspanError `INVALID_CALL` when the call itself is malformed.
   */
  toolCall<A, R>(init: ToolCallInit<A>, fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    return runToolCall(this.#core, this.#site, init, fn)
  }

  /**
   * Calls another agent and waits until it has finished. Hand `parent` to the child's `startOperation`.
   *
   * @throws what `fn` throws; HookspanError `CALL_DENIED` when a gate refused it.
   */
  callAgent<R>(
    init: CallAgentInit,
    fn: (
      parent: ParentOperation,
      options: { signal: AbortSignal | undefined; instruction: string },
    ) => R | PromiseLike<R>,
  ): Promise<R> {
    return runCallAgent(this.#core, this.#site, init, fn)
  }

  /**
   * Compacts the conversation.
   *
   * @throws what `fn` throws; HookspanError `CALL_DENIED` when a gate refused it.
   */
  compact<R extends CompactResult>(init: CompactInit, fn: () => R | PromiseLike<R>): Promise<R> {
    return runCompact(this.#core, this.#site, init, fn)
  }
}

/**
 * Makes calls from where the running code is: a step, a tool's body, a compaction. Undefined where no operation
 * runs.
 */
export function currentCalls(): CallMaker | undefined {
  const place = currentPlace()
  return place && new CallMaker(place.core, place.site)
}

/** One turn of the loop. */
export class Step extends CallMaker {
  readonly stepIndex: number
  readonly #state: StepState

  constructor(core: OperationCore, state: StepState) {
    super(core, state)
    this.#state = state
    this.stepIndex = state.stepIndex
  }

  /** Adds to what `afterStep` tells. */
  report(report: StepReport): void {
    Object.assign(this.#state.report, report)
  }
}

/** What a step collects for its `afterStep`. */
export class StepState implements CallSite {
  readonly traced: TracedActivity
  readonly stepIndex: number
  readonly report: StepReport = {}
  #callIndex = 0
  /** True once a call waits for a human in another process: the step is suspended, not ended. */
  suspended = false
  /** The last model call: what it said, read when somebody asks, or as it was saved. */
  #last: LlmReading | LlmNote | undefined
  #usage: TokenUsage | undefined
  #costUsd: number | undefined

  constructor(traced: TracedActivity, stepIndex: number, saved?: SavedStep) {
    this.traced = traced
    this.stepIndex = stepIndex
    this.#callIndex = saved?.callCount ?? 0
    this.#last = saved?.last
    this.#usage = saved?.usage
    this.#costUsd = saved?.costUsd
  }

  noteWaiting(): void {
    this.suspended = true
  }

  save(stepType: string | undefined): SavedStep {
    return {
      stepIndex: this.stepIndex,
      ...(stepType !== undefined && { stepType }),
      callCount: this.#callIndex,
      ...(this.#last !== undefined && { last: noteOf(this.#last) }),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...(this.#costUsd !== undefined && { costUsd: this.#costUsd }),
    }
  }

  nextCallIndex(): number {
    return this.#callIndex++
  }

  noteLlm(reading: LlmReading, usage: TokenUsage | undefined, costUsd: number | undefined): void {
    this.#last = reading
    if (usage !== undefined) this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage)
    this.#costUsd = addOptional(this.#costUsd, costUsd)
  }

  summary(): Partial<EventInit<'afterStep'>> {
    const last = this.#last && noteOf(this.#last)
    const { content = last?.content, reasoning = last?.reasoning, shouldContinue } = this.report
    const toolCalls = last?.toolCalls
    return {
      ...(content !== undefined && { content }),
      ...(reasoning !== undefined && { reasoning }),
      ...(toolCalls !== undefined && { toolCalls }),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...(this.#costUsd !== undefined && { costUsd: this.#costUsd }),
      ...(shouldContinue !== undefined && { shouldContinue }),
    }
  }
}

function noteOf(last: LlmReading | LlmNote): LlmNote {
  if (!('response' in last)) return last
  const { content, reasoning, toolCalls } = last.response
  return { content, reasoning, toolCalls }
}
