/** Who called whom. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { buildGraph, type GraphNode } from '../../src/viewer/model/agent-graph.ts'
import { counted, formatCount, formatDuration, visibleText } from '../../src/viewer/model/format.ts'
import { spanOfRow, type TreeNode } from '../../src/viewer/model/tree.ts'
import { useKeys } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Button, Empty, Text } from './parts.tsx'

interface Cards {
  width: number
  gapX: number
  gapY: number
  pad: number
  /** So many letters a card has room for. */
  chars: number
}
const WIDE: Cards = { width: 224, gapX: 86, gapY: 20, pad: 24, chars: 30 }
/** Two columns of them are as wide as a phone. */
const NARROW: Cards = { width: 156, gapX: 38, gapY: 12, pad: 12, chars: 20 }
const NARROW_PX = 720
const HEIGHT = 58
/** Where not all of it is in sight, what is can be read, and the rest is scrolled to. */
const LEAST_READ = 0.9
/** Letters of half their size can be guessed; what is smaller is shown as on a phone, which has no room for all either. */
const LEAST_FIT = 0.5

/** What the colour of a node tells the share of. */
const SHARES = {
  time: 'time',
  tokens: 'tokens',
  calls: 'calls',
  failed: 'failed calls',
} as const
type Share = keyof typeof SHARES

const amountOf: Record<Exclude<Share, 'failed'>, (node: GraphNode) => number> = {
  time: (node) => node.totalMs,
  tokens: (node) => node.tokens,
  calls: (node) => node.calls,
}

/** Of the whole run; of failures, of the node's own calls: one that failed of a hundred is a hundredth. */
function sharesOf(nodes: readonly GraphNode[], by: Share): Map<GraphNode, number> {
  if (by === 'failed')
    return new Map(nodes.map((node) => [node, (node.errors + node.refused) / Math.max(1, node.calls)]))
  // An agent's time and tokens are those of what it called.
  const own = nodes.filter(({ kind }) => kind !== 'agent')
  const total = own.reduce((sum, node) => sum + amountOf[by](node), 0)
  return new Map(own.map((node) => [node, total > 0 ? amountOf[by](node) / total : 0]))
}

const LEAST_ZOOM = 0.2
const MOST_ZOOM = 2.5

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
  const [cards, setCards] = useState(innerWidth < NARROW_PX ? NARROW : WIDE)
  const [by, setBy] = useState<Share>('time')
  const shares = useMemo(() => sharesOf(graph.nodes, by), [graph, by])
  const frame = useRef<HTMLDivElement>(null)
  const [fit, setFit] = useState(1)
  const isCut = cards === NARROW || fit < LEAST_FIT
  const places = useMemo(() => layOut(graph.nodes, cards, !isCut), [graph, cards, isCut])
  /** Until somebody zooms, all of it is in sight, as far as that can be read. */
  const [chosen, setChosen] = useState<number>()
  const zoom = chosen ?? (isCut ? Math.max(LEAST_READ, fit) : fit)
  useLayoutEffect(() => {
    const element = frame.current
    if (!element) return
    const measure = () => {
      setCards(element.clientWidth < NARROW_PX ? NARROW : WIDE)
      setFit(
        Math.max(
          LEAST_ZOOM,
          Math.min(1, element.clientWidth / places.width, element.clientHeight / places.height),
        ),
      )
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [places])
  const scale = (factor: number) => setChosen(Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, zoom * factor)))
  const showAll = () => setChosen(isCut ? fit : undefined)
  useKeys({ '>': () => scale(1.25), '<': () => scale(0.8), 0: showAll })
  if (graph.nodes.length === 0)
    return (
      <Empty title="No agents here">
        <p>This trace has no agent, model or tool spans.</p>
      </Empty>
    )
  return (
    <div class="graph-view">
      <div class="graph-tools">
        <div class="choice" role="group" aria-label="Coloured by the share of">
          <span class="hint">Share of</span>
          {(Object.keys(SHARES) as Share[]).map((share) => (
            <button
              key={share}
              type="button"
              class={`chip ${by === share ? 'on' : ''}`}
              aria-pressed={by === share}
              onClick={() => setBy(share)}
            >
              {SHARES[share]}
            </button>
          ))}
        </div>
        <div class="choice" role="group" aria-label="Zoom">
          <Button title="Smaller (<)" onClick={() => scale(0.8)}>
            −
          </Button>
          <span class="zoom-now">{Math.round(zoom * 100)}%</span>
          <Button title="Larger (>)" onClick={() => scale(1.25)}>
            +
          </Button>
          <Button title="All of it (0)" onClick={showAll}>
            Fit
          </Button>
        </div>
      </div>
      <div
        class="graph"
        ref={frame}
        tabIndex={0}
        role="region"
        aria-label="Agent graph"
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return
          event.preventDefault()
          scale(event.deltaY < 0 ? 1.1 : 1 / 1.1)
        }}
      >
        <div class="sheet" style={{ width: `${places.width * zoom}px`, height: `${places.height * zoom}px` }}>
          <div
            class="canvas"
            style={{ width: `${places.width}px`, height: `${places.height}px`, transform: `scale(${zoom})` }}
          >
            <svg width={places.width} height={places.height} aria-hidden="true">
              {graph.edges.map((edge) => {
                const path = curve(places.at.get(edge.from)!, places.at.get(edge.to)!, cards)
                return (
                  <g
                    key={`${edge.from} ${edge.to}`}
                    class="edge"
                    style={{ '--failed': `${Math.round((edge.errors / edge.calls) * 100)}%` }}
                  >
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
                  style={{
                    left: `${(from.x + cards.width + to.x) / 2}px`,
                    top: `${(from.y + to.y + HEIGHT) / 2}px`,
                  }}
                >
                  {edge.calls}×
                </span>
              ) : null
            })}
            {graph.nodes.map((node) => (
              <Node
                key={node.id}
                node={node}
                place={places.at.get(node.id)!}
                cards={cards}
                share={shares.get(node)}
                by={by}
                selected={spanOfRow(node.spanId) === selected}
                onSelect={onSelect}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

function Node({
  node,
  place,
  cards,
  share,
  by,
  selected,
  onSelect,
}: {
  node: GraphNode
  place: Place
  cards: Cards
  /** None where it has no share of its own. */
  share: number | undefined
  by: Share
  selected: boolean
  onSelect: (spanId: string) => void
}) {
  const told =
    share === undefined
      ? []
      : [`${Math.round(share * 100)}% ${by === 'failed' ? 'failed' : `of ${SHARES[by]}`}`]
  return (
    <button
      type="button"
      class={`node cat-${node.kind} ${selected ? 'selected' : ''} by-${by}`}
      style={{
        left: `${place.x}px`,
        top: `${place.y}px`,
        width: `${cards.width}px`,
        '--share': `${Math.round((share ?? 0) * 1000) / 10}%`,
      }}
      title={`${visibleText(node.label)}: ${[...told, ...describe(node)].join(', ')}`}
      onClick={() => onSelect(spanOfRow(node.spanId))}
    >
      <Icon name={node.kind} />
      <span class="label">
        <Text>{node.label}</Text>
      </span>
      <span class="hint">{fitting([...told, ...describe(node)], cards.chars)}</span>
    </button>
  )
}

/** What went other than as usual first; all of it is in the title. */
function describe(node: GraphNode): string[] {
  const { calls } = node
  const what = (['failed', 'refused', 'mocked'] as const).flatMap((word) => {
    const count = word === 'failed' ? node.errors : node[word]
    return count === 0 ? [] : [count === calls ? `${calls > 1 ? 'all ' : ''}${word}` : `${count} ${word}`]
  })
  const isSaid = calls === 1 && what.length > 0
  const parts = [...what, ...(isSaid ? [] : [counted(calls, 'call')]), formatDuration(node.totalMs)]
  if (node.tokens > 0) parts.push(`${formatCount(node.tokens)} tok`)
  return parts
}

/** As many of the facts as a card has room for, the first ones first: of one that is cut nobody knows what it says. */
function fitting(facts: readonly string[], chars: number): string {
  return facts.reduce((text, fact) => {
    const more = text === '' ? fact : `${text} · ${fact}`
    return more.length <= chars ? more : text
  }, '')
}

interface Place {
  x: number
  y: number
}

/**
 * Callers left of whom they call; the models first in each column, then tools by how often they were called.
 *
 * @param centred callers beside the middle of what they call, or at its top: where not all of it is in sight, one begins there.
 */
function layOut(
  nodes: GraphNode[],
  { width, gapX, gapY, pad }: Cards,
  centred: boolean,
): { at: Map<string, Place>; width: number; height: number } {
  const columns = new Map<number, GraphNode[]>()
  for (const node of nodes) columns.set(node.layer, [...(columns.get(node.layer) ?? []), node])
  const rank = { agent: 0, llm: 1, human: 2, tool: 3 }
  const tallest = Math.max(...[...columns.values()].map((column) => column.length))
  const height = tallest * (HEIGHT + gapY) - gapY + pad * 2
  const at = new Map<string, Place>()
  for (const [layer, column] of columns) {
    column.sort((a, b) => rank[a.kind] - rank[b.kind] || b.calls - a.calls)
    const used = column.length * (HEIGHT + gapY) - gapY
    for (const [index, node] of column.entries()) {
      at.set(node.id, {
        x: pad + layer * (width + gapX),
        y: (centred ? (height - used) / 2 : pad) + index * (HEIGHT + gapY),
      })
    }
  }
  return { at, width: pad * 2 + columns.size * (width + gapX) - gapX, height }
}

function curve(from: Place, to: Place, { width }: Cards): { line: string; tip: string } {
  const forward = to.x > from.x
  const x1 = from.x + (forward ? width : width / 2)
  const y1 = from.y + (forward ? HEIGHT / 2 : HEIGHT)
  const x2 = forward ? to.x - 7 : to.x + width / 2
  const y2 = forward ? to.y + HEIGHT / 2 : to.y + HEIGHT + 7
  const bend = forward ? Math.max(40, (x2 - x1) / 2) : 0
  const drop = forward ? 0 : 50
  const line = `M${x1} ${y1}C${x1 + bend} ${y1 + drop} ${x2 - bend} ${y2 + drop} ${x2} ${y2}`
  const tip = forward ? `M${x2 - 1} ${y2 - 4}l7 4-7 4Z` : `M${x2 - 4} ${y2 + 1}l4-7 4 7Z`
  return { line, tip }
}
