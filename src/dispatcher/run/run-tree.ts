import { NO_TOTALS } from '../../gates/gate.ts'
import type { TreeTotals } from '../../gates/index.ts'
import type { TokenUsage } from '../../hooks/index.ts'
import { canBeJson } from '../../internal/json.ts'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** What all the agents of one run share: the sums that budgets are held against, and the gates' own memory. */
export class RunTree {
  readonly #startedAt = performance.now()
  #state: Map<string, unknown> | undefined
  /** The root went on from a saved state, and holds the claim of it for all below. */
  readonly isResumed: boolean
  readonly #sums: Writable<TreeTotals>

  constructor(restored?: { sums: TreeTotals; state: Readonly<Record<string, unknown>> }) {
    this.isResumed = restored !== undefined
    this.#sums = { ...NO_TOTALS, ...restored?.sums }
    if (restored !== undefined) this.#state = new Map(Object.entries(restored.state))
  }

  /** What the gates of the run remember. */
  get state(): Map<string, unknown> {
    this.#state ??= new Map()
    return this.#state
  }

  get totals(): TreeTotals {
    return { ...this.#sums, durationMs: this.#sums.durationMs + performance.now() - this.#startedAt }
  }

  addStep(): void {
    this.#sums.steps++
  }

  addToolCall(): void {
    this.#sums.toolCalls++
  }

  /** `calls`: 0 for a remote agent, whose calls are not known one by one. `untold`: it used some, and does not say how much. */
  addUsage(usage: TokenUsage | undefined, costUsd: number | undefined, calls = 1, untold = false): void {
    const sums = this.#sums
    sums.llmCalls += calls
    sums.inputTokens += usage?.inputTokens ?? 0
    sums.outputTokens += usage?.outputTokens ?? 0
    sums.costUsd += costUsd ?? 0
    if ((usage !== undefined || untold) && costUsd === undefined) sums.unpricedCalls++
    if (untold) sums.unmeasuredCalls++
  }

  /** What JSON can carry of the gates' memory. */
  savedState(): Record<string, unknown> {
    return Object.fromEntries([...this.state].filter(([, value]) => canBeJson(value)))
  }
}
