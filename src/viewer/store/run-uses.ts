/** What each tool, model, agent, gate and person did in each run: kept as runs are summed, and summed over many of them. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { append } from '../../internal/append.ts'
import type { InTurns } from '../model/in-turns.ts'
import {
  COUNTS_OF,
  MOST_NAMES,
  noCounts,
  type RunUse,
  USE_COUNTS,
  type UseKind,
  type UseSum,
  type UseSums,
} from '../model/run-uses.ts'
import { percentileOf } from '../model/statistics.ts'
import type { RunSlice } from './found-runs.ts'
import { columnOf, storable } from './run-columns.ts'

/** Durations are 32-bit floats of milliseconds, errors a JSON list of kinds and counts on one line. */
export const DECLARED_USES = `
  run INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  ${USE_COUNTS.map((count) => `${columnOf(count)} ${count === 'costUsd' ? 'REAL' : 'INTEGER'} NOT NULL`).join(', ')},
  durations BLOB NOT NULL, errors TEXT, PRIMARY KEY (run, kind, name)`

const sumsOf = (kind: UseKind): string =>
  COUNTS_OF[kind].map((count) => `total(${columnOf(count)}) AS ${count}`).join(', ')

export class RunUses {
  readonly #db: DatabaseSync
  readonly #remove: StatementSync
  readonly #insert: StatementSync

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#remove = db.prepare('DELETE FROM run_use WHERE run = ?')
    // Node 22.15 hands on bytes that are none as NULL.
    this.#insert = db.prepare(
      `INSERT INTO run_use (run, kind, name, ${USE_COUNTS.map(columnOf).join(', ')}, durations, errors)
       VALUES (?, ?, ?, ${USE_COUNTS.map(() => '?').join(', ')}, coalesce(?, x''), ?)`,
    )
  }

  /** In place of what was kept of the run. */
  save(run: number, uses: readonly RunUse[]): void {
    this.#remove.run(run)
    this.add(run, uses)
  }

  /** Of a run of which nothing is kept yet. */
  add(run: number, uses: readonly RunUse[]): void {
    for (const use of uses) {
      const durations = new Uint8Array(Float32Array.from(use.durationsMs).buffer)
      const errors = use.errors.size > 0 ? JSON.stringify([...use.errors]) : null
      const counts = USE_COUNTS.map((count) => storable(use[count]))
      this.#insert.run(run, use.kind, use.name, ...counts, durations, errors)
    }
  }

  /** Of the runs in a slice, added to `sums`. */
  addTo(sums: SummingUses, kind: UseKind, { condition, params }: RunSlice): void {
    this.#add(sums, kind, `run IN (SELECT id FROM run WHERE ${condition})`, params)
  }

  /** Of the runs from one to another. */
  between(kind: UseKind, first: number, last: number): SummingUses {
    const sums: SummingUses = new Map()
    this.#add(sums, kind, 'run BETWEEN ? AND ?', [first, last])
    return sums
  }

  #add(sums: SummingUses, kind: UseKind, which: string, params: readonly SQLInputValue[]): void {
    const rows = this.#db
      .prepare(
        `SELECT name, count(*) AS runs, ${sumsOf(kind)}, CAST(group_concat(durations, '') AS BLOB) AS durations,
           group_concat(errors, char(10)) AS errors
         FROM run_use WHERE kind = ? AND ${which} GROUP BY name`,
      )
      .all(kind, ...params) as unknown as SummedRow[]
    for (const row of rows) {
      const sum = summingOf(sums, row.name)
      sum.runs += row.runs
      for (const count of COUNTS_OF[kind]) sum[count] += row[count]
      if (row.durations) sum.durations.push(new Float32Array(row.durations.slice().buffer))
      if (row.errors) addErrors(sum.errors, row.errors)
    }
  }
}

function summingOf(sums: SummingUses, name: string): Summing {
  const known = sums.get(name)
  if (known) return known
  const sum: Summing = { ...noCounts(), runs: 0, durations: [], errors: new Map() }
  sums.set(name, sum)
  return sum
}

/** Adds what came of other runs; durations are shared, not copied. */
export function mergeInto(sums: SummingUses, others: SummingUses): void {
  for (const [name, other] of others) {
    const sum = summingOf(sums, name)
    sum.runs += other.runs
    for (const count of USE_COUNTS) sum[count] += other[count]
    append(sum.durations, other.durations)
    for (const [text, { count, runs }] of other.errors) addError(sum.errors, text, count, runs)
  }
}

/** Those of each name in one piece, in order: percentiles of several such pieces are found without joining them. */
export function sortDurations(sums: SummingUses): void {
  for (const sum of sums.values())
    if (sum.durations.length > 0) sum.durations = [joined(sum.durations).sort()]
}

interface SummedRow extends Record<(typeof USE_COUNTS)[number], number> {
  name: string
  runs: number
  durations: Uint8Array | null
  errors: string | null
}

/** By name. */
export type SummingUses = Map<string, Summing>

interface Summing extends Record<(typeof USE_COUNTS)[number], number> {
  runs: number
  durations: Float32Array[]
  errors: Map<string, Occurrences>
}

interface Occurrences {
  count: number
  runs: number
}

function addErrors(errors: Map<string, Occurrences>, lines: string): void {
  for (const line of lines.split('\n')) {
    for (const [text, count] of JSON.parse(line) as [string, number][]) addError(errors, text, count, 1)
  }
}

function addError(errors: Map<string, Occurrences>, text: string, count: number, runs: number): void {
  const known = errors.get(text)
  errors.set(text, { count: (known?.count ?? 0) + count, runs: (known?.runs ?? 0) + runs })
}

/** Those with most calls first. `areSorted`: see `sortDurations`. */
export function* usesInOrder(sums: SummingUses, areSorted = false): InTurns<Pick<UseSums, 'uses' | 'names'>> {
  const uses: UseSum[] = []
  const most = [...sums].sort(([a, one], [b, other]) => other.calls - one.calls || (a < b ? -1 : 1))
  for (const [name, { durations, errors, ...counts }] of most.slice(0, MOST_NAMES)) {
    yield
    const parts = areSorted ? durations : [joined(durations).sort()]
    const p50 = percentileOf(parts, 0.5)
    const p95 = percentileOf(parts, 0.95)
    const top = [...errors].reduce<[string, Occurrences] | undefined>(
      (best, one) => (best && best[1].count >= one[1].count ? best : one),
      undefined,
    )
    uses.push({
      name,
      ...counts,
      ...(p50 !== undefined && p95 !== undefined && { durationMs: { p50, p95 } }),
      ...(top && { topError: { text: top[0], ...top[1] } }),
    })
  }
  return { uses, names: sums.size }
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
