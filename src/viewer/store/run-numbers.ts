/** Sums over the runs of a query, from the columns of the list. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { RunNumbers, StartBar } from '../model/run-numbers.ts'
import { RUN_STATUSES, type RunStatus } from '../model/span.ts'

const BARS = 60
const ENDED = "status NOT IN ('running', 'waiting')"

export function numbersOf(db: DatabaseSync, condition: string, params: SQLInputValue[]): RunNumbers {
  const sums = db
    .prepare(
      `SELECT count(*) AS runs, coalesce(sum(${ENDED}), 0) AS ended,
         total(input_tokens) AS inputTokens, total(output_tokens) AS outputTokens, total(cached_tokens) AS cachedTokens,
         total(cost_usd) AS costUsd, total(tool_calls) AS toolCalls, total(mocked_calls) AS mockedCalls,
         coalesce(min(start_us), 0) AS firstUs, coalesce(max(start_us), 0) AS lastUs FROM run ${condition}`,
    )
    .get(...params) as unknown as Omit<RunNumbers, 'byStatus' | 'starts'> & {
    firstUs: number
    lastUs: number
  }
  const { firstUs, lastUs, ...numbers } = sums
  const starts = numbers.runs === 0 ? [] : startBars(db, condition, params, firstUs, lastUs)
  const byStatus = Object.fromEntries(
    RUN_STATUSES.map((status) => [status, starts.reduce((sum, bar) => sum + (bar.byStatus[status] ?? 0), 0)]),
  ) as Record<RunStatus, number>
  const durations = `FROM run ${condition ? `${condition} AND` : 'WHERE'} ${ENDED} ORDER BY duration_ms LIMIT 1 OFFSET ?`
  const percentile = (of: number) =>
    (
      db
        .prepare(`SELECT duration_ms AS ms ${durations}`)
        .get(...params, Math.max(0, Math.ceil(numbers.ended * of) - 1)) as { ms: number }
    ).ms
  return {
    ...numbers,
    byStatus,
    ...(numbers.ended > 0 && { durationMs: { p50: percentile(0.5), p95: percentile(0.95) } }),
    starts,
  }
}

function startBars(
  db: DatabaseSync,
  condition: string,
  params: SQLInputValue[],
  firstUs: number,
  lastUs: number,
): StartBar[] {
  // At least a microsecond wide, the last run inside the last one.
  const widthUs = Math.floor((lastUs - firstUs) / BARS) + 1
  const bars: StartBar[] = []
  for (let fromUs = firstUs; fromUs <= lastUs; fromUs += widthUs) {
    bars.push({ fromUs, toUs: fromUs + widthUs, byStatus: {} })
  }
  const counts = db
    .prepare(
      `SELECT (start_us - ?) / ? AS bar, status, count(*) AS count FROM run ${condition} GROUP BY bar, status`,
    )
    .all(BigInt(firstUs), BigInt(widthUs), ...params) as { bar: number; status: RunStatus; count: number }[]
  for (const { bar, status, count } of counts) (bars[bar] as StartBar).byStatus[status] = count
  return bars
}
