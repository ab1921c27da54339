/** The beginning of a long run's timeline: what is in sight when the run is opened. */
import { finish, type InTurns } from './in-turns.ts'
import { asksAndEnds } from './parked.ts'
import type { SpanRow } from './span.ts'
import { flatten, growingTree } from './tree.ts'

export interface FirstRows {
  rows: SpanRow[]
  totalRows: number
}

/**
 * The spans of the first `count` rows of the timeline, and how many rows it has. `undefined` when they could look
 * otherwise without the rest: what runs or was cut off is drawn up to what is last known of it, and a stand-in for a
 * missing parent up to its last child. A call that asked a human may be gone on with further down.
 */
export function firstRows(rows: readonly SpanRow[], count: number): FirstRows | undefined {
  return finish(findingFirstRows(rows, count))
}

/** `firstRows`, giving way to others now and then. */
export function* findingFirstRows(rows: readonly SpanRow[], count: number): InTurns<FirstRows | undefined> {
  if (rows.some((row) => row.state !== 'ended' || asksAndEnds(row))) return undefined
  const root = yield* growingTree(rows)
  if (!root || root.row.parentSpanId) return undefined
  const all = flatten(root)
  const first = all.slice(0, count).map((node) => node.row)
  if (first.some((row) => row.category === 'missing')) return undefined
  const spans = new Set(rows)
  // Gates without a span of their own are told by their parent's.
  return { rows: first.filter((row) => spans.has(row)), totalRows: all.length }
}
