import type { RunTotals, TokenUsage } from '../../hooks/index.ts'
import type { ParkedOperation } from './parked.ts'
import { addOptional, addUsage, NO_USAGE } from './usage.ts'

/** What one run did and took until now, in all its processes; its sub-agents' not included. */
export class RunCounts {
  readonly #startedAt = performance.now()
  #steps = 0
  #llmCalls = 0
  #toolCalls = 0
  #usage: TokenUsage = NO_USAGE
  #costUsd: number | undefined

  constructor(saved?: ParkedOperation['totals']) {
    if (saved === undefined) return
    this.#steps = saved.steps
    this.#llmCalls = saved.llmCalls
    this.#toolCalls = saved.toolCalls
    this.#usage = { inputTokens: saved.inputTokens, outputTokens: saved.outputTokens }
    this.#costUsd = saved.costUsd
  }

  addStep(): void {
    this.#steps++
  }

  addToolCall(): void {
    this.#toolCalls++
  }

  addLlm(usage: TokenUsage | undefined, costUsd: number | undefined): void {
    this.#llmCalls++
    this.#usage = addUsage(this.#usage, usage)
    this.#costUsd = addOptional(this.#costUsd, costUsd)
  }

  totals(): RunTotals {
    return {
      steps: this.#steps,
      llmCalls: this.#llmCalls,
      toolCalls: this.#toolCalls,
      usage: this.#usage,
      ...(this.#costUsd !== undefined && { costUsd: this.#costUsd }),
      durationMs: performance.now() - this.#startedAt,
    }
  }
}
