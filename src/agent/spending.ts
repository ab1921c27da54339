import type { PriceOf } from '../dispatcher/index.ts'
import { addUsage, isAmount, NO_USAGE } from '../dispatcher/run/usage.ts'
import type { TokenUsage } from '../hooks/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import { warnOfUnknownPrice } from './prices.ts'
import type { SavedSpending } from './run-state.ts'

interface SpendingOptions {
  readonly agentName: string
  readonly prices: PriceOf | undefined
  readonly maxCostUsd: number | undefined
  /** The calling agent's: what a sub-agent spends counts there, too. */
  readonly parent: Spending | undefined
}

/** What a run and its sub-agents have spent. A cost of which a part is not known is not known. */
export class Spending {
  readonly #options: SpendingOptions
  #usage: TokenUsage = NO_USAGE
  #costUsd = 0
  /** The model whose price is not known, or that did not say what it used. */
  #unknown: string | undefined
  #calls = 0

  constructor(options: SpendingOptions, saved?: SavedSpending) {
    this.#options = options
    if (saved === undefined) return
    this.#usage = saved.usage
    this.#costUsd = saved.costUsd
    this.#unknown = saved.unknown
    this.#calls = saved.calls
  }

  /** Plain JSON. */
  save(): SavedSpending {
    const unknown = this.#unknown
    return {
      usage: this.#usage,
      costUsd: this.#costUsd,
      calls: this.#calls,
      ...defined({ unknown }),
    }
  }

  get usage(): TokenUsage {
    return this.#usage
  }

  /** US dollars; undefined when no call was priced, or any was not. */
  get costUsd(): number | undefined {
    return this.#calls > 0 && this.#unknown === undefined ? this.#costUsd : undefined
  }

  /** Prices a call and counts it. Given to the operation. */
  readonly priceOf: PriceOf = (call) => {
    const { prices } = this.#options
    const { provider, model, usage } = call
    let costUsd: number | undefined
    try {
      costUsd = prices?.(call) ?? call.reportedCostUsd
      if (prices !== undefined && costUsd === undefined) warnOfUnknownPrice(provider, model)
    } finally {
      this.#add(usage, costUsd, `no price is known for model "${model}" of provider "${provider}"`)
    }
    return costUsd
  }

  /** Counts a call that says what it cost. */
  readonly addTold = (usage: TokenUsage | undefined, costUsd: number): void => {
    this.#add(usage, costUsd, '')
  }

  /** Counts a call whose reply does not say what it used. */
  addUnmetered(model: string): void {
    this.#add(undefined, undefined, `model "${model}" did not say how many tokens it used`)
  }

  #add(usage: TokenUsage | undefined, costUsd: number | undefined, why: string): void {
    this.#calls++
    this.#usage = addUsage(this.#usage, usage)
    if (costUsd === undefined || !isAmount(costUsd)) this.#unknown ??= why
    else this.#costUsd += costUsd
    const { parent } = this.#options
    if (parent !== undefined) parent.#add(usage, costUsd, why)
  }

  /**
   * Whether a limit, this agent's or a calling agent's, is reached.
   *
   * @throws HookspanError `INVALID_OPTION` when there is a limit and what was spent is not known.
   */
  exhausted(): boolean {
    const { maxCostUsd, agentName, parent } = this.#options
    if (maxCostUsd !== undefined && this.#unknown !== undefined) {
      throw new HookspanError(
        'INVALID_OPTION',
        `Agent "${agentName}" has \`maxCostUsd: ${maxCostUsd}\`, but ${this.#unknown}, so the limit cannot be held. ` +
          'Give `execAgent` a `priceOf` that knows it, or take the limit out.',
      )
    }
    if (maxCostUsd !== undefined && this.#costUsd >= maxCostUsd) return true
    return parent?.exhausted() ?? false
  }
}
