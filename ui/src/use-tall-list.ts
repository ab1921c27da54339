/**
 * A long list of items of any height, of which only those in sight exist. How high an item is, is known once it has been drawn;
 * until then it is guessed, and what turns out otherwise above what one reads moves nothing of it.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { usePrinting } from './hooks.ts'

/** Ready above and below what is in sight, in pixels. */
const OVERSCAN = 700
/** So few are all drawn: the browser's own search finds them. */
const FEW = 60
/** On paper. */
const MOST_PRINTED = 2_000

interface Sight {
  top: number
  height: number
}

export interface TallList {
  scroller: { current: HTMLDivElement | null }
  list: { current: HTMLOListElement | null }
  from: number
  to: number
  /** Room for what is not drawn, in pixels. */
  above: number
  below: number
  /** The item at the upper edge. */
  at: number
  onScroll: () => void
  /** Brings an item to the upper edge, and keeps it there until somebody scrolls. */
  reveal: (index: number) => void
  toEnd: () => void
}

/** @param ids of the items, each of which it keeps its height by. */
export function useTallList(
  ids: readonly string[],
  guess: (index: number) => number,
  /** Stays at the end as the list grows, until one scrolls. */
  follow: boolean,
): TallList {
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const heights = useRef(new Map<string, number>())
  const [measured, setMeasured] = useState(0)
  const [sight, setSight] = useState<Sight>({ top: 0, height: innerHeight })
  const pinned = useRef<string | 'end' | undefined>(follow ? 'end' : undefined)
  const moved = useRef(0)

  const tops = useMemo(() => {
    const all = new Float64Array(ids.length + 1)
    for (const [index, id] of ids.entries())
      all[index + 1] = all[index]! + (heights.current.get(id) ?? guess(index))
    return all
  }, [ids, measured])
  const total = tops[ids.length]!
  const isFew = ids.length <= (usePrinting() ? MOST_PRINTED : FEW)
  const at = Math.max(0, indexAt(tops, sight.top + 1))
  const from = isFew ? 0 : Math.max(0, indexAt(tops, sight.top - OVERSCAN))
  const to = isFew ? ids.length : Math.min(ids.length, indexAt(tops, sight.top + sight.height + OVERSCAN) + 1)

  const look = () => {
    const element = scroller.current
    if (!element) return
    const { scrollTop: top, clientHeight: height } = element
    setSight((before) => (before.top === top && before.height === height ? before : { top, height }))
  }
  const measure = () => {
    let changed = false
    let above = 0
    for (const element of list.current?.children ?? []) {
      const id = (element as HTMLElement).dataset.id
      if (id === undefined) continue
      const index = Number((element as HTMLElement).dataset.index)
      const height = (element as HTMLElement).offsetHeight
      const before = heights.current.get(id) ?? guess(index)
      if (heights.current.get(id) === height) continue
      heights.current.set(id, height)
      changed = true
      if (index < at) above += height - before
    }
    if (!changed) return
    moved.current += above
    setMeasured((count) => count + 1)
  }
  // Before anything is painted: what was guessed wrongly is never seen.
  useLayoutEffect(measure)
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const { current: pin } = pinned
    if (pin === 'end') element.scrollTop = element.scrollHeight
    else if (pin !== undefined) element.scrollTop = tops[ids.indexOf(pin)] ?? element.scrollTop
    else if (moved.current !== 0) element.scrollTop += moved.current
    moved.current = 0
    look()
  }, [tops])
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      look()
      measure()
    })
    observer.observe(element)
    if (list.current) observer.observe(list.current)
    const release = () => {
      pinned.current = undefined
    }
    for (const event of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
      element.addEventListener(event, release)
    return () => {
      observer.disconnect()
      for (const event of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
        element.removeEventListener(event, release)
    }
  }, [])
  return {
    scroller,
    list,
    from,
    to,
    above: tops[from]!,
    below: total - tops[to]!,
    at,
    onScroll: () => {
      const element = scroller.current
      // At the end once more, it is followed again.
      if (element && follow && element.scrollTop + element.clientHeight >= element.scrollHeight - 4)
        pinned.current = 'end'
      look()
    },
    reveal: (index) => {
      pinned.current = ids[index]
      if (scroller.current) scroller.current.scrollTop = tops[index] ?? 0
      look()
    },
    toEnd: () => {
      pinned.current = 'end'
      if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
      look()
    },
  }
}

/** The last one that begins at or before `y`. */
function indexAt(tops: Float64Array, y: number): number {
  let low = 0
  let high = tops.length - 2
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (tops[middle]! <= y) low = middle
    else high = middle - 1
  }
  return Math.max(0, low)
}
