import type { TreeTotals } from '../gates/index.ts'
import type { TokenUsage } from '../hooks/index.ts'
import { canBeJson } from '../internal/json.ts'

/** What all the agents of one run share: the sums that budgets are held against, and the gates' own memory. */
export class RunTree {
  readonly #startedAt = performance.now()
  readonly state: Map<string, unknown>
  #sums: TreeTotals

  constructor(restored?: { sums: TreeTotals; state: Readonly<Record<string, unknown>> }) {
    this.#sums = restored?.sums ?? {
      steps: 0,
      llmCalls: 0,
      toolCalls: 0,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: 0,
      unpricedCalls: 0,
      durationMs: 0,
    }
    this.state = new Map(Object.entries(restored?.state ?? {}))
  }

  get totals(): TreeTotals {
    return { ...this.#sums, durationMs: this.#sums.durationMs + performance.now() - this.#startedAt }
  }

  addStep(): void {
    this.#sums = { ...this.#sums, steps: this.#sums.steps + 1 }
  }

  addToolCall(): void {
    this.#sums = { ...this.#sums, toolCalls: this.#sums.toolCalls + 1 }
  }

  /** `calls`: 0 for a remote agent, whose calls are not known one by one. */
  addUsage(usage: TokenUsage | undefined, costUsd: number | undefined, calls = 1): void {
    this.#sums = {
      ...this.#sums,
      llmCalls: this.#sums.llmCalls + calls,
      inputTokens: this.#sums.inputTokens + (usage?.inputTokens ?? 0),
      outputTokens: this.#sums.outputTokens + (usage?.outputTokens ?? 0),
      costUsd: this.#sums.costUsd + (costUsd ?? 0),
      unpricedCalls: this.#sums.unpricedCalls + (usage !== undefined && costUsd === undefined ? 1 : 0),
    }
  }

  /** What JSON can carry of the gates' memory. */
  savedState(): Record<string, unknown> {
    return Object.fromEntries([...this.state].filter(([, value]) => canBeJson(value)))
  }
}
