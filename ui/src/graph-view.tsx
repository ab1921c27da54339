/** Who called whom. */
import { useMemo } from 'preact/hooks'
import { buildGraph, type GraphNode } from '../../src/viewer/model/agent-graph.ts'
import { counted, formatCount, formatDuration, visibleText } from '../../src/viewer/model/format.ts'
import { spanOfRow, type TreeNode } from '../../src/viewer/model/tree.ts'
import { Icon } from './icons.tsx'
import { Empty, Text } from './parts.tsx'

const WIDTH = 200
const HEIGHT = 58
const GAP_X = 110
const GAP_Y = 20
const PAD = 24

export function GraphView({
  tree,
  selected,
  onSelect,
}: {
  tree: TreeNode
  selected: string
  onSelect: (spanId: string) => void
}) {
  const graph = useMemo(() => buildGraph(tree), [tree])
  const places = useMemo(() => layOut(graph.nodes), [graph])
  if (graph.nodes.length === 0)
    return (
      <Empty title="No agents here">
        <p>This trace has no agent, model or tool spans.</p>
      </Empty>
    )
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Agent graph">
      <div class="canvas" style={{ width: `${places.width}px`, height: `${places.height}px` }}>
        <svg width={places.width} height={places.height} aria-hidden="true">
          {graph.edges.map((edge) => {
            const from = places.at.get(edge.from)!
            const to = places.at.get(edge.to)!
            const path = curve(from, to)
            return (
              <g key={`${edge.from} ${edge.to}`} class={edge.errors > 0 ? 'edge bad' : 'edge'}>
                <path
                  d={path.line}
                  style={{ strokeWidth: `${Math.min(6, 1.2 + Math.log2(edge.calls) * 0.8)}px` }}
                />
                <path class="tip" d={path.tip} />
              </g>
            )
          })}
        </svg>
        {graph.edges.map((edge) => {
          const to = places.at.get(edge.to)!
          const from = places.at.get(edge.from)!
          return edge.calls > 1 ? (
            <span
              key={`n ${edge.from} ${edge.to}`}
              class="edge-count"
              style={{ left: `${(from.x + WIDTH + to.x) / 2}px`, top: `${(from.y + to.y + HEIGHT) / 2}px` }}
            >
              {edge.calls}×
            </span>
          ) : null
        })}
        {graph.nodes.map((node) => {
          const { x, y } = places.at.get(node.id)!
          return (
            <button
              key={node.id}
              type="button"
              class={`node cat-${node.kind} ${spanOfRow(node.spanId) === selected ? 'selected' : ''} ${node.errors + node.refused > 0 ? 'bad' : ''}`}
              style={{ left: `${x}px`, top: `${y}px` }}
              title={`${visibleText(node.label)}: ${describe(node).join(', ')}`}
              onClick={() => onSelect(spanOfRow(node.spanId))}
            >
              <Icon name={node.kind} />
              <span class="label">
                <Text>{node.label}</Text>
              </span>
              <span class="hint">{describe(node).slice(0, 3).join(' · ')}</span>
            </button>
          )
        })}
      </div>
    </div>
  )
}

/** What went other than as usual first; all of it is in the title. */
function describe(node: GraphNode): string[] {
  const parts = [counted(node.calls, 'call')]
  if (node.errors > 0) parts.push(`${node.errors} failed`)
  if (node.refused > 0) parts.push(`${node.refused} refused`)
  if (node.mocked > 0) parts.push(`${node.mocked} mocked`)
  parts.push(formatDuration(node.totalMs))
  if (node.tokens > 0) parts.push(`${formatCount(node.tokens)} tok`)
  return parts
}

interface Place {
  x: number
  y: number
}

/** Callers left of whom they call; the models first in each column, then tools by how often they were called. */
function layOut(nodes: GraphNode[]): { at: Map<string, Place>; width: number; height: number } {
  const columns = new Map<number, GraphNode[]>()
  for (const node of nodes) columns.set(node.layer, [...(columns.get(node.layer) ?? []), node])
  const rank = { agent: 0, llm: 1, human: 2, tool: 3 }
  const tallest = Math.max(...[...columns.values()].map((column) => column.length))
  const height = tallest * (HEIGHT + GAP_Y) - GAP_Y + PAD * 2
  const at = new Map<string, Place>()
  for (const [layer, column] of columns) {
    column.sort((a, b) => rank[a.kind] - rank[b.kind] || b.calls - a.calls)
    const used = column.length * (HEIGHT + GAP_Y) - GAP_Y
    for (const [index, node] of column.entries()) {
      at.set(node.id, { x: PAD + layer * (WIDTH + GAP_X), y: (height - used) / 2 + index * (HEIGHT + GAP_Y) })
    }
  }
  return { at, width: PAD * 2 + columns.size * (WIDTH + GAP_X) - GAP_X, height }
}

function curve(from: Place, to: Place): { line: string; tip: string } {
  const forward = to.x > from.x
  const x1 = from.x + (forward ? WIDTH : WIDTH / 2)
  const y1 = from.y + (forward ? HEIGHT / 2 : HEIGHT)
  const x2 = forward ? to.x - 7 : to.x + WIDTH / 2
  const y2 = forward ? to.y + HEIGHT / 2 : to.y + HEIGHT + 7
  const bend = forward ? Math.max(40, (x2 - x1) / 2) : 0
  const drop = forward ? 0 : 50
  const line = `M${x1} ${y1}C${x1 + bend} ${y1 + drop} ${x2 - bend} ${y2 + drop} ${x2} ${y2}`
  const tip = forward ? `M${x2 - 1} ${y2 - 4}l7 4-7 4Z` : `M${x2 - 4} ${y2 + 1}l4-7 4 7Z`
  return { line, tip }
}
