/** Who called whom: agents, models and tools as nodes, calls as edges. */

import { PARKED } from './parked.ts'
import type { SpanRow } from './span.ts'
import { durationMs } from './timing.ts'
import type { TreeNode } from './tree.ts'
import { isSameCall } from './tree-parts.ts'

export interface GraphNode {
  id: string
  kind: 'agent' | 'llm' | 'tool' | 'human'
  label: string
  calls: number
  /** Calls that were made and failed. */
  errors: number
  mocked: number
  /** Calls that a gate or a person did not let through. */
  refused: number
  totalMs: number
  tokens: number
  /** Distance from the first agent. */
  layer: number
  /** One of its spans, to open. */
  spanId: string
}

export interface GraphEdge {
  from: string
  to: string
  calls: number
  errors: number
}

export interface AgentGraph {
  nodes: GraphNode[]
  edges: GraphEdge[]
}

export function buildGraph(root: TreeNode): AgentGraph {
  const nodes = new Map<string, GraphNode>()
  const edges = new Map<string, GraphEdge>()
  interface Item {
    node: TreeNode
    caller: GraphNode | undefined
    /** It tells of the call that it lies in. */
    isAgain: boolean
  }
  const stack: Item[] = [{ node: root, caller: undefined, isAgain: false }]
  for (let item = stack.pop(); item; item = stack.pop()) {
    const caller = item.isAgain ? item.caller : add(nodes, edges, item.node.row, item.caller)
    for (let index = item.node.children.length - 1; index >= 0; index--) {
      const node = item.node.children[index]!
      // A model call nested in a model call is the same call, told twice.
      if (node.row.category === 'llm' && item.node.row.category === 'llm') continue
      stack.push({ node, caller, isAgain: isSameCall(node, item.node) })
    }
  }
  deepen([...edges.values()], nodes)
  return { nodes: [...nodes.values()], edges: [...edges.values()] }
}

/** Moves each node right of all its callers; recursion between agents would move them for ever and is stopped. */
function deepen(edges: readonly GraphEdge[], nodes: Map<string, GraphNode>): void {
  const calls = new Set(edges.map(({ from, to }) => `${from}\n${to}`))
  for (let round = 0; round < 12; round++) {
    let moved = false
    for (const edge of edges) {
      const from = nodes.get(edge.from)!
      const to = nodes.get(edge.to)!
      const isMutual = calls.has(`${to.id}\n${from.id}`)
      if (from === to || to.layer > from.layer || from.layer >= nodes.size || isMutual) continue
      to.layer = from.layer + 1
      moved = true
    }
    if (!moved) return
  }
}

function add(
  nodes: Map<string, GraphNode>,
  edges: Map<string, GraphEdge>,
  row: SpanRow,
  caller: GraphNode | undefined,
): GraphNode | undefined {
  if (
    row.category !== 'agent' &&
    row.category !== 'llm' &&
    row.category !== 'tool' &&
    row.category !== 'human'
  )
    return caller
  const label = row.label || (row.category === 'human' ? 'human' : row.name)
  // Each caller has its own model: the same model under two agents is two conversations.
  const id = row.category === 'llm' ? `llm:${caller?.id ?? ''}:${label}` : `${row.category}:${label}`
  let node = nodes.get(id)
  if (!node) {
    node = {
      id,
      kind: row.category,
      label,
      calls: 0,
      errors: 0,
      mocked: 0,
      refused: 0,
      totalMs: 0,
      tokens: 0,
      layer: caller ? caller.layer + 1 : 0,
      spanId: row.spanId,
    }
    nodes.set(id, node)
  }
  // A refused call has the status of an error, too.
  const isRefused = row.outcome === 'denied' || row.outcome === 'rejected'
  const calls = row.outcome === PARKED ? 0 : 1
  node.calls += calls
  node.errors += row.error && !isRefused ? 1 : 0
  node.mocked += row.mocked ? 1 : 0
  node.refused += isRefused ? 1 : 0
  node.totalMs += durationMs(row)
  node.tokens += row.inputTokens + row.outputTokens
  if (caller) {
    const key = `${caller.id}\n${id}`
    const edge = edges.get(key) ?? { from: caller.id, to: id, calls: 0, errors: 0 }
    edge.calls += calls
    edge.errors += row.error ? 1 : 0
    edges.set(key, edge)
  }
  return row.category === 'llm' ? caller : node
}
