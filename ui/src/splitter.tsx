/** A line between two parts that is dragged, or moved with the arrow keys. The browser keeps where it was left. */
import { useState } from 'preact/hooks'
import { keep, readKept } from './kept.ts'

const STEP_PX = 24

export interface Split {
  /** Pixels, or none until somebody moved it. */
  px: number | undefined
  set: (px: number | undefined) => void
}

export function useSplit(name: string, least: number): Split {
  const [px, setPx] = useState(() => readKept<number | undefined>(name, undefined))
  return {
    px: typeof px === 'number' ? px : undefined,
    set: (next) => {
      const rounded = next === undefined ? undefined : Math.max(least, Math.round(next))
      keep(name, rounded ?? null)
      setPx(rounded)
    },
  }
}

export function Splitter({
  label,
  split,
  grows,
  measured,
}: {
  label: string
  split: Split
  /** Which way it grows. */
  grows: 'left' | 'right'
  /** How wide the part is that it sizes. */
  measured: (splitter: HTMLElement) => number
}) {
  const sign = grows === 'right' ? 1 : -1
  const start = (event: PointerEvent) => {
    if (event.button !== 0) return
    event.preventDefault()
    const element = event.currentTarget as HTMLElement
    element.setPointerCapture(event.pointerId)
    const from = event.clientX
    const before = measured(element)
    const move = ({ clientX }: PointerEvent) => split.set(before + (clientX - from) * sign)
    const end = () => {
      element.removeEventListener('pointermove', move)
      element.removeEventListener('pointerup', end)
      element.removeEventListener('pointercancel', end)
    }
    element.addEventListener('pointermove', move)
    element.addEventListener('pointerup', end)
    element.addEventListener('pointercancel', end)
  }
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -STEP_PX, ArrowRight: STEP_PX }[event.key]
    if (by === undefined) return
    event.preventDefault()
    event.stopPropagation()
    split.set(measured(event.currentTarget as HTMLElement) + by * sign)
  }
  return (
    <span
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={split.px ?? 0}
      tabIndex={0}
      title="Drag, or the arrow keys; double click: as it was"
      onPointerDown={start}
      onKeyDown={onKey}
      onDblClick={() => split.set(undefined)}
    />
  )
}
