/** Where a run's time went, and which spans its end waited for. */
import type { SpanCategory, SpanRow } from './span.ts'
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
  const active = new Map<number, number>()
  let cursor = firstUs
  for (const edge of edges) {
    totals[innermost(active)] += Math.max(0, edge.at - cursor) / 1000
    cursor = Math.max(cursor, edge.at)
    const key = edge.depth * TIME_KINDS.length + TIME_KINDS.indexOf(edge.kind)
    const count = (active.get(key) ?? 0) + (edge.opens ? 1 : -1)
    if (count === 0) active.delete(key)
    else active.set(key, count)
  }
  if (lastUs > cursor) totals.idle += (lastUs - cursor) / 1000
  return totals
}

function innermost(active: Map<number, number>): TimeKind {
  let deepest = -1
  for (const key of active.keys()) if (key > deepest) deepest = key
  return deepest < 0 ? 'idle' : TIME_KINDS[deepest % TIME_KINDS.length]!
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

export function durationMs(row: SpanRow): number {
  return row.endUs > 0 ? (row.endUs - row.startUs) / 1000 : 0
}
