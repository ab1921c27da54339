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

  /** One model call. `untold`: it used tokens, and does not say how many. */
  addLlm(usage: TokenUsage | undefined, costUsd: number | undefined, model: string, untold: boolean): void {
    this.#sums.llmCalls++
    this.addUsage(usage, costUsd, model, untold)
  }

  /** Alone of a remote agent, whose calls are not known one by one. */
  addUsage(usage: TokenUsage | undefined, costUsd?: number, model?: string, untold = false): void {
    const sums = this.#sums
    sums.inputTokens += usage?.inputTokens ?? 0
    sums.outputTokens += usage?.outputTokens ?? 0
    sums.costUsd += costUsd ?? 0
    if ((usage !== undefined || untold) && costUsd === undefined) {
      sums.unpricedCalls++
      if (model) sums.unpricedModel ??= model
    }
    if (untold) sums.unmeasuredCalls++
  }

  /** What JSON can carry of the gates' memory. */
  savedState(): Record<string, unknown> {
    return Object.fromEntries([...this.state].filter(([, value]) => canBeJson(value)))
  }
}
