import type { SpanRow } from './span.ts'
import { buildTree, flatten, type TreeNode } from './tree.ts'

/** The nodes that say what a run did: model calls told several times by nested instrumentation come once. */
export function summaryNodes(rows: readonly SpanRow[]): TreeNode[] {
  const root = buildTree(rows)
  return root ? withoutNestedCalls(flatten(root)) : []
}

/** `nodes` in tree order. */
export function withoutNestedCalls(nodes: readonly TreeNode[]): TreeNode[] {
  const kept: TreeNode[] = []
  let inside = Number.POSITIVE_INFINITY
  for (const node of nodes) {
    const isCall = node.row.category === 'llm' || node.row.category === 'embedding'
    if (node.depth > inside && isCall) continue
    if (node.depth <= inside) inside = isCall ? node.depth : Number.POSITIVE_INFINITY
    kept.push(node)
  }
  return kept
}
