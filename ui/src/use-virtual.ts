/** A long list of rows of one height, of which only those in sight exist. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePrinting } from './hooks.ts'

export const ROW_PX = 30
/** Ready above and below what is in sight: what the wheel brings in before the next frame. */
const OVERSCAN = 4
/** On paper. */
const MOST_PRINTED = 3_000
/** What stands above the list, about; the list says how high it is once it is there. */
const ABOVE_PX = 250

interface Sight {
  first: number
  rows: number
}

/** The same object as long as no other row is in sight: then nothing is drawn again. */
const sightOf =
  ({ scrollTop, clientHeight }: HTMLElement) =>
  (before: Sight): Sight => {
    const first = Math.floor(scrollTop / ROW_PX)
    const rows = Math.ceil(clientHeight / ROW_PX) + 1
    return before.first === first && before.rows === rows ? before : { first, rows }
  }

export function useVirtual(count: number) {
  const ref = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState<Sight>(() => ({
    first: 0,
    rows: Math.ceil(Math.max(ROW_PX, innerHeight - ABOVE_PX) / ROW_PX),
  }))
  const frame = useRef(0)
  /** Where the list of elements begins, and which row was there. */
  const turned = useRef({ by: 0, from: 0 })
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const measure = () => setSight(sightOf(element))
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const printing = usePrinting()
  const from = printing ? 0 : Math.max(0, sight.first - OVERSCAN)
  const size = printing ? MOST_PRINTED : sight.rows + 2 * OVERSCAN
  const turn = turned.current
  // Nothing of what was in sight still is: every element stays where it is, and shows another row.
  if (Math.abs(from - turn.from) >= size) turn.by += from - turn.from
  turn.from = from
  return {
    ref,
    from,
    to: Math.min(count, from + size),
    /** A row that scrolls out of sight is used again for the one that comes in: its elements stay. */
    keyOf: (index: number) => (((index - turn.by) % size) + size) % size,
    onScroll: () => {
      cancelAnimationFrame(frame.current)
      frame.current = requestAnimationFrame(() => {
        const element = ref.current
        if (element) setSight(sightOf(element))
      })
    },
    reveal: (index: number) => {
      const element = ref.current
      if (!element) return
      const top = index * ROW_PX
      if (top < element.scrollTop) element.scrollTop = top - ROW_PX
      else if (top + ROW_PX > element.scrollTop + element.clientHeight)
        element.scrollTop = top + ROW_PX * 2 - element.clientHeight
    },
  }
}
