/** What costs are made from, and what they may come to. */
import { useState } from 'preact/hooks'
import { formatCost } from '../../src/viewer/model/format.ts'
import { share } from '../../src/viewer/model/run-numbers.ts'
import { useLoaded, useSource } from './hooks.ts'
import { keep, readKept } from './kept.ts'

/** By which table what is not told was priced, and of when that is. */
export function useEstimateWords(): string {
  const source = useSource()
  const { value } = useLoaded(() => source.status(), [])
  const table = value?.prices
  if (!table) return 'Estimated from tokens'
  const until = table.newest ? `, prices up to ${table.newest}` : ''
  return `Estimated from tokens with ${table.source}${until}; as of each call`
}

const BUDGET = 'hookspan-budget-usd'
const ASKED = 'Budget for the runs of a search, in US dollars, like 12.50; empty for none'

/** What the runs of a search may cost; set by a press on it, kept in this browser. */
export function BudgetSum({ costUsd }: { costUsd: number }) {
  const [budget, setBudget] = useState(() => readKept<number>(BUDGET, 0))
  const ask = (words = ASKED, shown = budget ? String(budget) : ''): void => {
    const given = prompt(words, shown)
    if (given === null) return
    const usd = Number(given.replace('$', ''))
    if (!Number.isFinite(usd) || usd < 0) return ask(`"${given}" is not an amount. ${ASKED}`, given)
    setBudget(usd)
    keep(BUDGET, usd)
  }
  const over = budget > 0 && costUsd > budget
  return (
    <div title="What these runs may cost; press to change">
      <dt>Budget</dt>
      <dd>
        <button type="button" class={`budget ${over ? 'over' : ''}`} onClick={() => ask()}>
          {budget === 0 ? 'Set' : `${share(costUsd, budget)} of ${formatCost(budget)}`}
        </button>
        {budget > 0 && (
          <meter
            min={0}
            max={budget}
            high={budget}
            value={Math.min(costUsd, budget)}
            aria-label={`${formatCost(costUsd)} of a budget of ${formatCost(budget)}`}
          />
        )}
      </dd>
    </div>
  )
}
