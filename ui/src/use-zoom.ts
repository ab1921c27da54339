/** The part of a run that the timeline shows. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { endOf } from '../../src/viewer/model/timing.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import { type Brush, brushOf } from './minimap.tsx'
import type { Range } from './timeline-row.tsx'

/** Room around a row that is zoomed to, of its length. */
const MARGIN = 0.08
/** Browsers let an address change only so often; a wheel turns quicker. */
const TELL_AFTER_MS = 250
/** Of a share, in an address: enough for a millisecond of a year. */
const DIGITS = 12

function brushIn(told: string): Brush | undefined {
  const [from, to, ...more] = told.split(',').map(Number)
  return more.length === 0 && from !== undefined && to !== undefined && from >= 0 && from < to && to <= 1
    ? { from, to }
    : undefined
}

function textOf(brush: Brush | undefined): string {
  return brush ? [brush.from, brush.to].map((share) => Number(share.toPrecision(DIGITS))).join() : ''
}

interface Told {
  /** The part that the address tells; what is none is all of it. */
  zoom: string
  onZoom: (zoom: string) => void
}

export function useZoom(
  whole: Range,
  all: readonly TreeNode[],
  cursor: string,
  nowUs: number,
  on: boolean,
  { zoom, onZoom }: Told,
) {
  const [kept, setBrush] = useState(() => brushIn(zoom))
  // Whatever else of the address changed until then stays.
  const address = useRef({ zoom, onZoom })
  address.current = { zoom, onZoom }
  const untold = useRef<string | undefined>(undefined)
  const timer = useRef(0)
  const tell = () => {
    clearTimeout(timer.current)
    const told = untold.current
    untold.current = undefined
    if (told !== undefined && told !== textOf(brushIn(address.current.zoom))) address.current.onZoom(told)
  }
  // Who goes to another view of the run before comes back to it: even where this part was never drawn.
  useEffect(() => tell, [])
  const set = (brush: Brush | undefined) => {
    setBrush(brush)
    untold.current = textOf(brush)
    clearTimeout(timer.current)
    timer.current = setTimeout(tell, TELL_AFTER_MS)
  }
  const brush = on ? kept : undefined
  const range: Range = brush
    ? {
        fromUs: whole.fromUs + brush.from * whole.lengthUs,
        lengthUs: Math.max(1, (brush.to - brush.from) * whole.lengthUs),
      }
    : whole
  const rowAt = () => all.find(({ row }) => row.spanId === cursor)?.row
  /** Keeps what is at `share` of the part where it is. */
  const scale = (factor: number, share: number) => {
    const lengthUs = Math.max(10, range.lengthUs * factor)
    const fromUs = range.fromUs + (range.lengthUs - lengthUs) * share
    set(brushOf({ fromUs, lengthUs }, whole))
  }
  return {
    brush,
    range,
    set,
    by: (factor: number) => {
      if (!on) return
      const row = rowAt()
      const middle = row ? (row.startUs + endOf(row, nowUs)) / 2 : Number.NaN
      const share = (middle - range.fromUs) / range.lengthUs
      scale(factor, share >= 0 && share <= 1 ? share : 0.5)
    },
    toRow: () => {
      const row = on ? rowAt() : undefined
      if (!row) return
      const lengthUs = Math.max(10, endOf(row, nowUs) - row.startUs)
      const margin = lengthUs * MARGIN
      set(brushOf({ fromUs: row.startUs - margin, lengthUs: lengthUs + 2 * margin }, whole))
    },
    /** With Control or Command, as on a map: what is below the pointer stays there. */
    onWheel: (event: WheelEvent) => {
      if (!on || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      const bars = (event.target as Element).closest('.row')?.querySelector('.c-bar')?.getBoundingClientRect()
      const share = bars ? (event.clientX - bars.left) / bars.width : 0.5
      scale(event.deltaY < 0 ? 0.7 : 1 / 0.7, Math.max(0, Math.min(1, share)))
    },
  }
}
