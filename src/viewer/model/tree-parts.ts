import type { InTurns } from './in-turns.ts'
import { isParked } from './parked.ts'
import type { RunSummary, SpanRow } from './span.ts'
import { flatten, growingTree, type TreeNode } from './tree.ts'

/** The nodes that say what a run did, each call once. */
export function* summaryNodes(rows: readonly SpanRow[]): InTurns<TreeNode[]> {
  const root = yield* growingTree(rows)
  return root ? eachCallOnce(flatten(root)) : []
}

/** `nodes` of a whole tree, in its order, without what tells once more of a call: nested instrumentation, and the part before a call was parked. */
export function eachCallOnce(nodes: readonly TreeNode[]): TreeNode[] {
  const kept: TreeNode[] = []
  const path: TreeNode[] = []
  let inside = Number.POSITIVE_INFINITY
  for (const node of nodes) {
    path[node.depth] = node
    const isCall = node.row.category === 'llm' || node.row.category === 'embedding'
    if (node.depth > inside && isCall) continue
    if (node.depth <= inside) inside = isCall ? node.depth : Number.POSITIVE_INFINITY
    if (!isParked(node) && !isSameCall(node, path[node.depth - 1])) kept.push(node)
  }
  return kept
}

/**
 * Told twice, one span in the other: a tool call by two instrumentations; the run of a remote agent by who called it and by
 * itself.
 */
export function isSameCall({ row }: TreeNode, parent: TreeNode | undefined): boolean {
  if (!parent || row.category !== parent.row.category || row.label !== parent.row.label) return false
  if (row.category === 'agent') return row.service !== parent.row.service
  if (row.category !== 'tool') return false
  const [one, other] = [row.callId, parent.row.callId]
  return one === other ? one !== '' : one === '' || other === ''
}

export interface Sums {
  inputTokens: number
  outputTokens: number
  costUsd: number
}

/** Tokens and cost of each node and all below it, counted as the run's are: nested instrumentation once. */
export function sumsOf(root: TreeNode): Map<TreeNode, Sums> {
  const sums = new Map<TreeNode, Sums>()
  for (const node of flatten(root).reverse()) {
    const { category, inputTokens, outputTokens, costUsd } = node.row
    const isCall = category === 'llm' || category === 'embedding'
    const sum = isCall
      ? { inputTokens, outputTokens, costUsd }
      : { inputTokens: 0, outputTokens: 0, costUsd: 0 }
    for (const child of isCall ? [] : node.children) {
      const below = sums.get(child)
      sum.inputTokens += below?.inputTokens ?? 0
      sum.outputTokens += below?.outputTokens ?? 0
      sum.costUsd += below?.costUsd ?? 0
    }
    sums.set(node, sum)
  }
  return sums
}

/** What is to be said beside a cost: that it is a guess, and that some calls are not in it, which nobody has a price for or are free. */
export function costNote(root: TreeNode | undefined, { costUsd, estimatedUsd }: Costs): string {
  const used = root === undefined || costUsd === 0 ? [] : eachCallOnce(flatten(root)).filter(isUsed)
  const costed = used.filter(({ row }) => row.costUsd > 0).length
  const part = costed < used.length ? `in ${costed} of ${used.length} calls` : ''
  return [estimatedUsd > 0 && 'estimated', part].filter(Boolean).join(', ')
}

type Costs = Pick<RunSummary, 'costUsd' | 'estimatedUsd'>

function isUsed({ row: { category, inputTokens, outputTokens } }: TreeNode): boolean {
  return (category === 'llm' || category === 'embedding') && inputTokens + outputTokens > 0
}

/** The first model call in each node's part of the tree. */
export function firstCallsIn(root: TreeNode): Map<TreeNode, TreeNode> {
  const first = new Map<TreeNode, TreeNode>()
  for (const node of flatten(root).reverse()) {
    const call =
      node.row.category === 'llm' ? node : node.children.map((child) => first.get(child)).find(Boolean)
    if (call) first.set(node, call)
  }
  return first
}
