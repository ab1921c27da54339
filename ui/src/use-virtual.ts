/** A long list of rows of one height, of which only those in sight exist. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

export const ROW_PX = 30
const OVERSCAN = 6

/** The same object as long as nothing is seen that was not seen before: then nothing is drawn again. */
const sightOf =
  (element: HTMLElement) =>
  (before: { top: number; height: number }): { top: number; height: number } => {
    const { scrollTop: top, clientHeight: height } = element
    return before.top === top && before.height === height ? before : { top, height }
  }

export function useVirtual(count: number) {
  const ref = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 900 })
  const frame = useRef(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const measure = () => setSight(sightOf(element))
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const from = Math.max(0, Math.floor(sight.top / ROW_PX) - OVERSCAN)
  const size = Math.ceil(sight.height / ROW_PX) + 1 + 2 * OVERSCAN
  return {
    ref,
    from,
    to: Math.min(count, from + size),
    size,
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
