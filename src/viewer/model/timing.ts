/** Where a run's time went, and which spans its end waited for. */
import type { RunSummary, SpanCategory, SpanRow } from './span.ts'
import { flatten, type TreeNode } from './tree.ts'

export type TimeKind = 'model' | 'tool' | 'human' | 'other' | 'idle'
export const TIME_KINDS: readonly TimeKind[] = ['model', 'tool', 'human', 'other', 'idle']

const KIND_OF: Partial<Record<SpanCategory, TimeKind>> = {
  llm: 'model',
  embedding: 'model',
  tool: 'tool',
  retrieval: 'tool',
  human: 'human',
  compact: 'other',
  gate: 'other',
}

/**
 * Milliseconds by what the run was doing; they add up to its duration. Each moment counts once, for the innermost work
 * going on: a tool that waits for a person is the person's time, two tools at once are one tool's time.
 */
export function timeBreakdown(root: TreeNode, nowUs: number): Record<TimeKind, number> {
  const totals: Record<TimeKind, number> = { model: 0, tool: 0, human: 0, other: 0, idle: 0 }
  const nodes = flatten(root)
  const edges: { at: number; opens: boolean; depth: number; kind: TimeKind }[] = []
  let firstUs = Number.POSITIVE_INFINITY
  let lastUs = 0
  for (const { row, depth } of nodes) {
    const end = endOf(row, nowUs)
    firstUs = Math.min(firstUs, row.startUs)
    lastUs = Math.max(lastUs, end)
    const kind = KIND_OF[row.category]
    if (!kind) continue
    edges.push({ at: row.startUs, opens: true, depth, kind }, { at: end, opens: false, depth, kind })
  }
  edges.sort((a, b) => a.at - b.at)
  const active = new Active()
  let cursor = firstUs
  for (const edge of edges) {
    totals[active.innermost()] += Math.max(0, edge.at - cursor) / 1000
    cursor = Math.max(cursor, edge.at)
    active.change(edge.depth * TIME_KINDS.length + TIME_KINDS.indexOf(edge.kind), edge.opens ? 1 : -1)
  }
  // A run that is parked does nothing: it waits for a person.
  const waits = nodes.some(({ row }) => row.state === 'running' && row.outcome === 'waiting')
  if (lastUs > cursor) totals[waits ? 'human' : 'idle'] += (lastUs - cursor) / 1000
  return totals
}

/** What goes on at a moment, by depth and kind. A heap: agents within one another can be twenty thousand deep. */
class Active {
  readonly #counts = new Map<number, number>()
  /** Each key is at most as large as the one at half its index. Those that nothing has any more leave when they are on top. */
  readonly #heap: number[] = [Number.POSITIVE_INFINITY]

  change(key: number, by: 1 | -1): void {
    const count = this.#counts.get(key)
    if (count === undefined) this.#push(key)
    this.#counts.set(key, (count ?? 0) + by)
  }

  innermost(): TimeKind {
    while (this.#heap.length > 1 && (this.#counts.get(this.#heap[1]!) ?? 0) <= 0) this.#pop()
    return this.#heap.length > 1 ? TIME_KINDS[this.#heap[1]! % TIME_KINDS.length]! : 'idle'
  }

  #push(key: number): void {
    const heap = this.#heap
    let at = heap.push(key) - 1
    for (; heap[at >> 1]! < key; at >>= 1) heap[at] = heap[at >> 1]!
    heap[at] = key
  }

  #pop(): void {
    const heap = this.#heap
    this.#counts.delete(heap[1]!)
    const key = heap.pop()!
    if (heap.length === 1) return
    let at = 1
    for (let below = 2; below < heap.length; below = at * 2) {
      if (below + 1 < heap.length && heap[below + 1]! > heap[below]!) below++
      if (heap[below]! <= key) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = key
  }
}

/** Ids of the spans on the critical path: going back from the end, whatever finished last before each moment. */
export function criticalPath(root: TreeNode, nowUs: number): Set<string> {
  const path = new Set<string>()
  const stack: { node: TreeNode; until: number }[] = [{ node: root, until: endOf(root.row, nowUs) }]
  for (let item = stack.pop(); item; item = stack.pop()) {
    path.add(item.node.row.spanId)
    let cursor = item.until
    const children = [...item.node.children].sort((a, b) => endOf(b.row, nowUs) - endOf(a.row, nowUs))
    for (const child of children) {
      const end = endOf(child.row, nowUs)
      // What ends after the parent (detached work) is not what the parent waited for.
      if (end > cursor || child.row.startUs >= cursor) continue
      stack.push({ node: child, until: end })
      cursor = child.row.startUs
    }
  }
  return path
}

export function endOf(row: SpanRow, nowUs: number): number {
  if (row.endUs > 0) return row.endUs
  return row.state === 'running' ? Math.max(nowUs, row.startUs) : (row.lastSeenUs ?? row.startUs)
}

/** How long a run has gone on, or waited; once it is over, how long it took. */
export function elapsedMs({ status, startUs, durationMs }: RunSummary, nowUs: number): number {
  const isOpen = status === 'running' || status === 'waiting'
  return isOpen ? Math.max(durationMs, (nowUs - startUs) / 1000) : durationMs
}

export function durationMs(row: SpanRow): number {
  return row.endUs > 0 ? (row.endUs - row.startUs) / 1000 : 0
}
