/** Why a run did not end well: the first cause, where it is, and what it says. */
import { rowTitle } from './row-title.ts'
import type { RunSummary } from './span.ts'
import { flatten, spanOfRow, type TreeNode } from './tree.ts'

export interface Why {
  what: 'failed' | 'interrupted' | 'denied' | 'stopped'
  /** The span to look at. */
  spanId: string
  /** From below the run to it: the step, the call. Empty when it is the run itself. */
  where: string[]
  /** On one line, and cut; the span has it whole. */
  message: string
}

const STOPPED: Readonly<Record<string, string>> = {
  max_steps: 'The run reached its limit of steps.',
  cost_limit: 'The run reached its limit of cost.',
}

/** Nothing for a run that goes on or came to its end. */
export function whyOf(
  root: TreeNode,
  { status, reason }: Pick<RunSummary, 'status' | 'reason'>,
): Why | undefined {
  if (status === 'failed') return failure(root)
  if (status === 'denied') return refusal(root) ?? failure(root)
  if (status === 'interrupted') return interruption(root, reason)
  const message = Object.hasOwn(STOPPED, reason) ? STOPPED[reason] : undefined
  const last =
    message === undefined ? undefined : root.children.findLast(({ row }) => row.category === 'step')
  return message === undefined ? undefined : told('stopped', root, last ?? root, message)
}

/** Down from what failed to what failed last in it, as long as nothing was done after that. */
function failure(root: TreeNode): Why {
  const failing = withErrors(root)
  let cause = flatten(root).find(({ row }) => row.error) ?? root
  for (let at: TreeNode | undefined = root; at !== undefined; at = lastDone(at, failing)) {
    if (at.row.error) cause = at
  }
  return told('failed', root, cause, cause.row.errorText || 'It does not say why.')
}

/** Whether an agent failed and nothing was done after that: spans around it may not say so, as those of workflows. */
export function failedAtItsEnd(root: TreeNode): boolean {
  const failing = withErrors(root)
  for (let at: TreeNode | undefined = root; at !== undefined; at = lastDone(at, failing)) {
    if (at.row.error) return at.row.category === 'agent'
  }
  return false
}

/** The nodes in which something failed, themselves included. */
export function withErrors(root: TreeNode): ReadonlySet<TreeNode> {
  const failing = new Set<TreeNode>()
  for (const node of flatten(root).reverse()) {
    if (node.row.error || node.children.some((child) => failing.has(child))) failing.add(node)
  }
  return failing
}

/** What failed by itself: a call, not also the step and the run that failed because of it. */
export function failuresIn(root: TreeNode): TreeNode[] {
  const failing = withErrors(root)
  if (failing.size === 0) return []
  return flatten(root).filter((node) => {
    let inside = node.row.error ? lastDone(node, failing) : undefined
    while (inside && !inside.row.error) inside = lastDone(inside, failing)
    return node.row.error && inside === undefined
  })
}

function lastDone(node: TreeNode, failing: ReadonlySet<TreeNode>): TreeNode | undefined {
  // Of calls at the same time the one that says what is said above: another may have been refused after it.
  const { error, errorText } = node.row
  const same = ({ row }: TreeNode) => row.error && row.errorText === errorText
  const passedOn = error && errorText !== '' ? node.children.findLast(same) : undefined
  if (passedOn !== undefined) return passedOn
  const last = node.children.findLast((child) => failing.has(child))
  if (last === undefined) return undefined
  const endUs = last.row.endUs || Number.POSITIVE_INFINITY
  const wentOn = node.children.some((child) => child !== last && isWork(child) && child.row.startUs >= endUs)
  return wentOn ? undefined : last
}

function isWork({ row }: TreeNode): boolean {
  return row.category !== 'gate' && row.category !== 'compact'
}

function refusal(root: TreeNode): Why | undefined {
  let last: TreeNode | undefined
  for (const node of flatten(root)) {
    if (refusedBy(node) !== undefined && (last === undefined || node.row.startUs >= last.row.startUs))
      last = node
  }
  return last && told('denied', root, last, refusedBy(last) ?? '')
}

function refusedBy({ row }: TreeNode): string | undefined {
  const gate = row.category === 'gate' ? row.gates?.[0] : undefined
  if (gate?.decision === 'deny' && gate.enforced) {
    // Its name is the last of the way to it.
    const id = gate.id === rowTitle(row) ? '' : gate.id
    return [id, gate.code, gate.reason].filter(Boolean).join(': ') || 'It does not say why.'
  }
  const { action, approver = 'A person', reason } = row.human ?? {}
  if (!action?.startsWith('reject')) return undefined
  return reason === undefined ? `${approver} rejected it.` : `${approver} rejected it: ${reason}`
}

/** What had begun last of what never ended; where all ended, the last thing that is known. */
function interruption(root: TreeNode, reason: string): Why {
  if (reason === 'interrupted') {
    const cause = failure(root)
    return {
      ...cause,
      what: 'interrupted',
      message: withErrors(root).size > 0 ? cause.message : 'The run was stopped.',
    }
  }
  let at = root
  for (;;) {
    const open = at.children.findLast(({ row }) => row.state === 'interrupted')
    const next = open ?? (at.row.category === 'missing' ? at.children.at(-1) : undefined)
    if (next === undefined) break
    at = next
  }
  const message =
    at.row.state === 'interrupted'
      ? 'It never ended: its process died, shut down its tracing, or was not heard of again.'
      : 'Nothing was heard of the run after this.'
  return told('interrupted', root, at, message)
}

function told(what: Why['what'], root: TreeNode, at: TreeNode, message: string): Why {
  return { what, spanId: spanOfRow(at.row.spanId), where: pathTo(root, at), message }
}

function pathTo(root: TreeNode, at: TreeNode): string[] {
  const parents = new Map<TreeNode, TreeNode>()
  for (const node of flatten(root)) for (const child of node.children) parents.set(child, node)
  const path: string[] = []
  for (let node: TreeNode | undefined = at; node !== undefined && node !== root; node = parents.get(node))
    path.unshift(rowTitle(node.row))
  return path
}
