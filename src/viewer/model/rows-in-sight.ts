/** Which rows of a tree are shown: without what is folded or filtered out, with the way to what is left. */
import { flatten, type TreeNode } from './tree.ts'

export interface RowsWanted {
  /** What is shown; everything, when there is none. Then nothing is folded: what is looked for is seen. */
  matches?: ((node: TreeNode) => boolean) | undefined
  /** Not shown, with all that is in it. */
  hides?: ((node: TreeNode) => boolean) | undefined
  isCollapsed: (node: TreeNode) => boolean
  /** Shown in any case. */
  keeps?: (node: TreeNode) => boolean
}

export interface RowsInSight {
  rows: TreeNode[]
  /** Of them those that are only the way to what matches. */
  way: ReadonlySet<TreeNode>
  matches: number
}

export function rowsInSight(root: TreeNode, wanted: RowsWanted): RowsInSight {
  const { matches, hides = () => false, isCollapsed, keeps = () => false } = wanted
  if (!matches) {
    const rows = flatten(root, isCollapsed).filter((node) => !hides(node) || keeps(node))
    return { rows, way: new Set(), matches: rows.length }
  }
  const all = flatten(root)
  const kept = new Set<TreeNode>()
  const way = new Set<TreeNode>()
  let count = 0
  // Children before their parents.
  for (let index = all.length - 1; index >= 0; index--) {
    const node = all[index]!
    const isMatch = matches(node)
    if (isMatch) count++
    const isWay = !isMatch && (keeps(node) || node.children.some((child) => kept.has(child)))
    if (isMatch || isWay) kept.add(node)
    if (isWay) way.add(node)
  }
  return { rows: all.filter((node) => kept.has(node)), way, matches: count }
}

/** A gate that let a call pass: there is one for most calls, and nothing to see in it. */
export function isPassedGate({ row, children }: TreeNode): boolean {
  if (row.category !== 'gate' || row.error || children.length > 0) return false
  const [first] = row.gates ?? []
  return first !== undefined && first.decision === 'proceed'
}
