/** All of a run in one strip. A drag over it shows that part in the timeline below; its edges and the part itself can be moved. */
import { useMemo, useRef, useState } from 'preact/hooks'
import { formatDuration } from '../../src/viewer/model/format.ts'
import { endOf } from '../../src/viewer/model/timing.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import type { Range } from './timeline-row.tsx'

/** Of the drawing, which is stretched to the strip. */
const WIDTH = 1000
const HEIGHT = 100
/** A shorter drag is a click. In pixels. */
const LEAST_DRAG = 4
/** Of the run: closer than this nothing can be told apart. */
const LEAST_SHARE = 1e-6

export interface Brush {
  /** Shares of the whole. */
  from: number
  to: number
}

type Grip = 'new' | 'from' | 'to' | 'both'

export function Minimap({
  nodes,
  whole,
  nowUs,
  brush,
  onBrush,
}: {
  nodes: readonly TreeNode[]
  whole: Range
  nowUs: number
  /** None: all of it. */
  brush: Brush | undefined
  onBrush: (brush: Brush | undefined) => void
}) {
  const strip = useRef<HTMLDivElement>(null)
  const drag = useRef<{ grip: Grip; x: number; brush: Brush } | undefined>(undefined)
  const [drawn, setDrawn] = useState<Brush>()
  const paths = useMemo(() => pathsOf(nodes, whole, nowUs), [nodes, whole, nowUs])
  const shown = drawn ?? brush ?? { from: 0, to: 1 }

  const shareAt = (event: PointerEvent): number => {
    const { left, width } = strip.current!.getBoundingClientRect()
    return Math.max(0, Math.min(1, (event.clientX - left) / width))
  }
  const start = (event: PointerEvent) => {
    if (event.button !== 0) return
    const named = (event.target as HTMLElement).dataset.grip as Grip | undefined
    const share = shareAt(event)
    const grip = named ?? 'new'
    drag.current = { grip, x: event.clientX, brush: grip === 'new' ? { from: share, to: share } : shown }
    strip.current!.setPointerCapture(event.pointerId)
  }
  const move = (event: PointerEvent) => {
    if (!drag.current) return
    const { grip, x, brush: before } = drag.current
    if (grip === 'new' && Math.abs(event.clientX - x) < LEAST_DRAG) return
    const share = shareAt(event)
    if (grip === 'both') {
      const { width } = strip.current!.getBoundingClientRect()
      setDrawn(moved(before, (event.clientX - x) / width))
    } else if (grip === 'from') setDrawn(ordered(share, before.to))
    else if (grip === 'to') setDrawn(ordered(before.from, share))
    else setDrawn(ordered(before.from, share))
  }
  const end = () => {
    if (drawn) onBrush(drawn)
    drag.current = undefined
    setDrawn(undefined)
  }
  const onKey = (grip: 'from' | 'to') => (event: KeyboardEvent) => {
    const by = { ArrowLeft: -0.01, ArrowRight: 0.01, PageDown: -0.1, PageUp: 0.1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const next = Math.max(0, Math.min(1, shown[grip] + by))
    onBrush(
      grip === 'from'
        ? ordered(Math.min(next, shown.to), shown.to)
        : ordered(shown.from, Math.max(next, shown.from)),
    )
  }
  const handle = (grip: 'from' | 'to') => (
    <span
      class={`grip grip-${grip}`}
      data-grip={grip}
      style={{ left: `${shown[grip] * 100}%` }}
      role="slider"
      tabIndex={0}
      aria-label={grip === 'from' ? 'Timeline from' : 'Timeline to'}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(shown[grip] * 100)}
      aria-valuetext={formatDuration((whole.lengthUs * shown[grip]) / 1000)}
      onKeyDown={onKey(grip)}
    />
  )
  return (
    <div
      role="group"
      aria-label="Minimap"
      class={`minimap ${brush || drawn ? 'brushed' : ''}`}
      ref={strip}
      title="Drag to zoom in; double click for all of it"
      onPointerDown={start}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={end}
      onDblClick={() => onBrush(undefined)}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {paths.map(({ look, d }) => (
          <path key={look} class={look} d={d} />
        ))}
      </svg>
      <span class="shade" style={{ left: 0, width: `${shown.from * 100}%` }} />
      <span class="shade" style={{ left: `${shown.to * 100}%`, right: 0 }} />
      {(brush || drawn) && (
        <span
          class="held"
          data-grip="both"
          style={{ left: `${shown.from * 100}%`, width: `${(shown.to - shown.from) * 100}%` }}
        />
      )}
      {handle('from')}
      {handle('to')}
    </div>
  )
}

/** The part that comes of it; all of it when that is what is left. */
export function brushOf(range: Range, whole: Range): Brush | undefined {
  const from = Math.max(0, (range.fromUs - whole.fromUs) / whole.lengthUs)
  const to = Math.min(1, (range.fromUs + range.lengthUs - whole.fromUs) / whole.lengthUs)
  return from <= 0 && to >= 1 ? undefined : { from, to: Math.max(to, from + LEAST_SHARE) }
}

function ordered(one: number, other: number): Brush {
  const from = Math.min(one, other)
  return { from, to: Math.max(one, other, from + LEAST_SHARE) }
}

function moved({ from, to }: Brush, by: number): Brush {
  const length = to - from
  const start = Math.max(0, Math.min(1 - length, from + by))
  return { from: start, to: start + length }
}

/** Deeper spans share the lowest lane. */
const LANES = 9

/** A bar for each span, below the one it is in: one path for each look. */
function pathsOf(nodes: readonly TreeNode[], whole: Range, nowUs: number): { look: string; d: string }[] {
  const paths = new Map<string, string[]>()
  const depth = nodes.reduce((most, node) => Math.max(most, Math.min(LANES - 1, node.depth)), 0)
  const lane = HEIGHT / (depth + 1)
  const high = (lane * 0.8).toFixed(1)
  for (const { row, depth } of nodes) {
    const left = ((row.startUs - whole.fromUs) / whole.lengthUs) * WIDTH
    const width = Math.max(0.7, ((endOf(row, nowUs) - row.startUs) / whole.lengthUs) * WIDTH).toFixed(1)
    const top = (Math.min(LANES - 1, depth) * lane).toFixed(1)
    const look = row.error ? 'bad' : `cat-${row.category}`
    const list = paths.get(look) ?? []
    paths.set(look, list)
    list.push(`M${left.toFixed(1)} ${top}h${width}v${high}h-${width}z`)
  }
  const all = [...paths].map(([look, parts]) => ({ look, d: parts.join('') }))
  // What failed is above the others.
  return all.sort((a, b) => Number(a.look === 'bad') - Number(b.look === 'bad'))
}
