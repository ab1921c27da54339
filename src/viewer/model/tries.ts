import type { SpanRow } from './span.ts'
import type { TreeNode } from './tree.ts'

/**
 * Which calls were made again after they had failed, and as the how-manieth: an agent's call of a tool with the arguments of one
 * that failed, and the next call of a model in the same place.
 */
export function triesOf(root: TreeNode): ReadonlyMap<TreeNode, number> {
  const tries = new Map<TreeNode, number>()
  const last = new Map<string, TreeNode>()
  const stack: [node: TreeNode, agent: string][] = [[root, '']]
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [node, agent] = next
    const { row, children } = node
    const key = keyOf(row, agent)
    if (key !== undefined) {
      const before = last.get(key)
      if (before && hasFailed(before.row) && before.row.endUs <= row.startUs)
        tries.set(node, (tries.get(before) ?? 1) + 1)
      last.set(key, node)
    }
    const inside = row.category === 'agent' ? row.spanId : agent
    for (let index = children.length - 1; index >= 0; index--) stack.push([children[index]!, inside])
  }
  return tries
}

/** Of arguments that were not captured nobody knows whether they are the same. */
function keyOf({ category, label, preview, parentSpanId }: SpanRow, agent: string): string | undefined {
  if (category === 'llm') return JSON.stringify([parentSpanId])
  return category === 'tool' && preview !== '' ? JSON.stringify([agent, label, preview]) : undefined
}

/** What was refused did not fail: to ask for it again is to be refused again. */
function hasFailed({ error, endUs, outcome }: SpanRow): boolean {
  return error && endUs > 0 && outcome !== 'denied' && outcome !== 'rejected'
}
