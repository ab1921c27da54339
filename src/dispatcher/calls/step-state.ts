import type { EventInit, TokenUsage } from '../../hooks/index.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import type { LlmReading } from '../../wire/reading.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { CallSite } from '../run/operation-core.ts'
import type { LlmNote, SavedStep } from '../run/parked.ts'
import { addOptional, addUsage } from '../run/usage.ts'

/** What a runtime may add to a step's `afterStep`. */
export interface StepReport {
  /** False when this was the last step. */
  shouldContinue?: boolean
  content?: string
  reasoning?: string
}

export const REPORT: Fields<StepReport> = {
  shouldContinue: a.boolean,
  // As a model said them.
  content: a.value,
  reasoning: a.value,
}

/** What a step collects for its `afterStep`. */
export class StepState implements CallSite {
  readonly traced: TracedActivity
  readonly stepIndex: number
  readonly report: StepReport = {}
  readonly #stepType: string | undefined
  #callIndex = 0
  /** True once a call waits for a human in another process: the step is suspended, not ended. */
  suspended = false
  /** The last model call: what it said, read when somebody asks, or as it was saved. */
  #last: LlmReading | LlmNote | undefined
  #usage: TokenUsage | undefined
  #costUsd: number | undefined

  constructor(traced: TracedActivity, stepIndex: number, stepType: string | undefined, saved?: SavedStep) {
    this.traced = traced
    this.stepIndex = stepIndex
    this.#stepType = stepType
    this.#callIndex = saved?.callCount ?? 0
    this.#last = saved?.last
    this.#usage = saved?.usage
    this.#costUsd = saved?.costUsd
  }

  noteWaiting(): void {
    this.suspended = true
  }

  save(): SavedStep {
    return defined({
      stepIndex: this.stepIndex,
      stepType: this.#stepType,
      callCount: this.#callIndex,
      last: this.#last && noteOf(this.#last),
      usage: this.#usage,
      costUsd: this.#costUsd,
    }) as SavedStep
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
    const [usage, costUsd] = [this.#usage, this.#costUsd]
    const toolCalls = last?.toolCalls
    return defined({ content, reasoning, toolCalls, usage, costUsd, shouldContinue }) as Partial<
      EventInit<'afterStep'>
    >
  }
}

function noteOf(last: LlmReading | LlmNote): LlmNote {
  if (!('response' in last)) return last
  const { content, reasoning, toolCalls } = last.response
  return { content, reasoning, toolCalls }
}
