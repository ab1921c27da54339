/**
 * Rows into one tree. Spans come late, twice and out of order, from several processes; whatever is there is shown as
 * one whole: what waits for a parent hangs under a stand-in for it, and several roots hang under a stand-in for the trace.
 */
import { finish, type InTurns } from './in-turns.ts'
import { asksAndEnds, markParked } from './parked.ts'
import type { SpanRow } from './span.ts'

export interface TreeNode {
  row: SpanRow
  children: TreeNode[]
  depth: number
}

export const TRACE_ROOT = 'trace'

/** Nodes between two turns. */
const YIELD_AFTER = 4096

/** Of a run that works now, a parent that has not come has not ended either: its stand-in runs, too. */
export function buildTree(rows: readonly SpanRow[], isRunning = false): TreeNode | undefined {
  return finish(growingTree(rows, isRunning))
}

/** `buildTree`, giving way to others now and then. */
export function* growingTree(rows: readonly SpanRow[], isRunning = false): InTurns<TreeNode | undefined> {
  if (rows.length === 0) return undefined
  const nodes = new Map<string, TreeNode>()
  let isInOrder = true
  // Children come beside one another: their parent is looked for once.
  let parentOf = ''
  for (const row of rows) {
    if (row.parentSpanId !== parentOf) {
      parentOf = row.parentSpanId
      if (parentOf !== '' && !nodes.has(parentOf)) isInOrder = false
    }
    nodes.set(row.spanId, { row, children: [], depth: 0 })
    if (nodes.size % YIELD_AFTER === 0) yield
  }
  // Where each came after its parent, and once, there is no ring to look for.
  const rings = isInOrder && nodes.size === rows.length ? NO_RINGS : yield* ringRoots(nodes)
  const roots: TreeNode[] = []
  const missing = new Map<string, TreeNode>()
  let parent: TreeNode | undefined
  for (const node of nodes.values()) {
    const parentId = node.row.parentSpanId
    if (!parentId || (rings !== NO_RINGS && rings.has(node))) roots.push(node)
    else {
      if (parent?.row.spanId !== parentId) parent = nodes.get(parentId)
      if (parent) parent.children.push(node)
      else standIn(missing, parentId).children.push(node)
    }
  }
  yield
  for (const node of nodes.values()) if (node.row.gates) addGates(node)
  for (const node of missing.values()) {
    spread(node)
    if (isRunning) Object.assign(node.row, { name: 'parent span', state: 'running', endUs: 0 })
  }
  const root = uniteRoots(roots, [...missing.values()])
  yield* layOut(root)
  if (rows.some((row) => row.state === 'interrupted')) lengthen(root)
  if (rows.some(asksAndEnds)) markParked(root)
  return root
}

const NO_RINGS: ReadonlySet<TreeNode> = new Set()

/** Spans that name each other as parents would hang in the air; of such a ring the smallest id becomes a root. */
function* ringRoots(nodes: ReadonlyMap<string, TreeNode>): InTurns<Set<TreeNode>> {
  const roots = new Set<TreeNode>()
  /** By which walk up the tree a node was met first. */
  const walks = new Map<TreeNode, number>()
  let walk = 0
  for (const start of nodes.values()) {
    if (++walk % YIELD_AFTER === 0) yield
    let at: TreeNode | undefined = start
    while (at && !walks.has(at)) {
      walks.set(at, walk)
      at = nodes.get(at.row.parentSpanId)
    }
    if (at && walks.get(at) === walk) roots.add(smallestOf(at, nodes))
  }
  return roots
}

function smallestOf(inRing: TreeNode, nodes: ReadonlyMap<string, TreeNode>): TreeNode {
  let smallest = inRing
  for (let at = nodes.get(inRing.row.parentSpanId)!; at !== inRing; at = nodes.get(at.row.parentSpanId)!) {
    if (at.row.spanId < smallest.row.spanId) smallest = at
  }
  return smallest
}

function uniteRoots(roots: TreeNode[], missing: TreeNode[]): TreeNode {
  if (roots.length === 1) {
    const root = roots[0]!
    root.children = root.children.concat(missing)
    return root
  }
  if (roots.length === 0 && missing.length === 1) return missing[0]!
  const united: TreeNode = { row: emptyRow(TRACE_ROOT, 'trace'), children: [...roots, ...missing], depth: 0 }
  spread(united)
  return united
}

/** A gate that decided inside the process left an event, not a span; it gets a row all the same. */
function addGates(node: TreeNode): void {
  if (node.row.category === 'gate') return
  const withSpan = new Set(
    node.children.filter((child) => child.row.category === 'gate').map((child) => child.row.label),
  )
  for (const [index, gate] of (node.row.gates ?? []).entries()) {
    if (withSpan.has(gate.id)) continue
    const row: SpanRow = {
      ...emptyRow(`${node.row.spanId}:${index}`, `gate ${gate.id}`),
      parentSpanId: node.row.spanId,
      category: 'gate',
      label: gate.id,
      gates: [gate],
      startUs: Math.max(node.row.startUs, gate.timeUs - (gate.durationMs ?? 0) * 1000),
      endUs: gate.timeUs || node.row.startUs,
    }
    node.children.push({ row, children: [], depth: 0 })
  }
}

/** The span a row stands for: gates without a span of their own are told by their parent's. */
export function spanOfRow(rowId: string): string {
  return rowId.split(':')[0]!
}

function standIn(missing: Map<string, TreeNode>, spanId: string): TreeNode {
  let node = missing.get(spanId)
  if (!node) {
    node = { row: emptyRow(spanId, 'parent span, not received'), children: [], depth: 0 }
    missing.set(spanId, node)
  }
  return node
}

function spread(node: TreeNode): void {
  const rows = node.children.map((child) => child.row)
  node.row.startUs = rows.reduce((least, row) => Math.min(least, row.startUs), Number.POSITIVE_INFINITY)
  const isRunning = rows.some((row) => row.state === 'running')
  node.row.endUs = isRunning ? 0 : rows.reduce((most, row) => Math.max(most, row.endUs), 0)
  // Where none of them ended, all were cut off.
  node.row.state = isRunning ? 'running' : node.row.endUs === 0 ? 'interrupted' : 'ended'
}

function* layOut(root: TreeNode): InTurns<void> {
  const stack = [root]
  let count = 0
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (++count % YIELD_AFTER === 0) yield
    node.children.sort((a, b) => a.row.startUs - b.row.startUs || (a.row.spanId < b.row.spanId ? -1 : 1))
    for (const child of node.children) {
      child.depth = node.depth + 1
      stack.push(child)
    }
  }
}

/** A span that was cut off worked at least until the last thing in it that is known. */
function lengthen(root: TreeNode): void {
  for (const node of flatten(root).reverse()) {
    if (node.row.state !== 'interrupted') continue
    const lastSeenUs = node.children.reduce(
      (most, { row }) => Math.max(most, row.endUs, row.startUs, row.lastSeenUs ?? 0),
      node.row.startUs,
    )
    node.row = { ...node.row, lastSeenUs }
  }
}

/** Every node, parents before children, in the order of the page. Not recursive: traces can be deep. */
export function flatten(root: TreeNode, isCollapsed: (node: TreeNode) => boolean = () => false): TreeNode[] {
  const flat: TreeNode[] = []
  const stack = [root]
  for (let node = stack.pop(); node; node = stack.pop()) {
    flat.push(node)
    if (isCollapsed(node)) continue
    for (let index = node.children.length - 1; index >= 0; index--) stack.push(node.children[index]!)
  }
  return flat
}

export function emptyRow(spanId: string, name: string): SpanRow {
  return {
    spanId,
    parentSpanId: '',
    name,
    category: 'missing',
    startUs: 0,
    endUs: 0,
    state: 'ended',
    error: false,
    label: '',
    service: '',
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    costUsd: 0,
    costEstimated: false,
    outcome: '',
    mocked: false,
    callId: '',
    preview: '',
    errorText: '',
  }
}
