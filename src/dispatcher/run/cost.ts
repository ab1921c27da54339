import type { TokenUsage } from '../../hooks/index.ts'
import { expected } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import type { OperationCore } from './operation-core.ts'
import { isAmount } from './usage.ts'

/** What is known of what a model call took. */
export interface Counted {
  readonly usage: TokenUsage | undefined
  /** By whoever read the reply. */
  readonly costUsd: number | undefined
  /** By the reply itself. */
  readonly reportedCostUsd: number | undefined
}

interface CountedCall extends Counted {
  readonly provider: string
  readonly model: string
}

/** A gateway says `0` of what it has no price of and of what another key pays, too, so that a price of the user's own goes before it. */
export function costOf(
  core: OperationCore,
  { provider, model, usage, costUsd: stated, reportedCostUsd }: CountedCall,
): number | undefined {
  const price = core.init.priceOf ?? core.host.priceOf
  const isPriced = price !== undefined && usage !== undefined
  const told = stated ?? (reportedCostUsd === 0 && isPriced ? undefined : reportedCostUsd)
  if (told !== undefined) {
    core.noteCost?.(usage, told)
    return told
  }
  if (!isPriced) return undefined
  try {
    const asked = { provider, model, usage, ...defined({ reportedCostUsd }) }
    const costUsd: unknown = price(asked) ?? reportedCostUsd
    if (costUsd === undefined) return undefined
    if (isAmount(costUsd)) return costUsd
    throw expected('`priceOf` to give a finite number >= 0, or nothing', costUsd)
  } catch (error) {
    core.reportFailure('priceOf', error)
    return undefined
  }
}
