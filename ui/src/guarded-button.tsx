import { type ComponentChildren, createContext, type RefObject } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'

/** Shorter than this, what was meant for something else can still be on its way: a double click, a second Enter. */
const ARM_MS = 700
const HELD = new Set(['Enter', ' '])

/** Whether what stands around has not moved for as long: one that slid under the mouse is not the one that was aimed at. */
export const Settled = createContext(true)

export function useSettled(content: RefObject<HTMLElement | null>): boolean {
  const [settled, setSettled] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new ResizeObserver(() => {
      setSettled(false)
      clearTimeout(timer)
      timer = setTimeout(() => setSettled(true), ARM_MS)
    })
    observer.observe(content.current!)
    return () => {
      observer.disconnect()
      clearTimeout(timer)
    }
  }, [])
  return settled
}

/**
 * A button that lets something happen. It can be reached before it may be pressed; pressed too early it leads to what is to
 * be read first. A key that is held down presses it no more than once, and not when it went down elsewhere.
 */
export function GuardedButton({
  ready,
  busy,
  describedBy,
  kind = '',
  onClick,
  children,
}: {
  /** All that is to be read has been in sight. */
  ready: boolean
  busy: boolean
  /** Id of what says why it is not ready. */
  describedBy: string
  kind?: string
  onClick: () => void
  children: ComponentChildren
}) {
  const [armed, setArmed] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARM_MS)
    return () => clearTimeout(timer)
  }, [])
  const settled = useContext(Settled)
  const may = armed && ready && !busy
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-disabled={!(may && settled)}
      aria-describedby={describedBy}
      onKeyDown={(event) => event.repeat && HELD.has(event.key) && event.preventDefault()}
      onClick={(event) => {
        // A key presses what has the focus, wherever that went.
        const isKey = event.detail === 0
        if (may) (settled || isKey) && onClick()
        else if (!ready)
          event.currentTarget.closest('.request')?.querySelector<HTMLElement>('.exact')?.focus()
      }}
    >
      {children}
    </button>
  )
}
