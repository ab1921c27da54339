import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Shorter than this, what was meant for something else can still be on its way: a double click, a second Enter. */
const ARM_MS = 700
const HELD = new Set(['Enter', ' '])

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
  const may = armed && ready
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-disabled={!may}
      aria-describedby={describedBy}
      disabled={busy}
      onKeyDown={(event) => event.repeat && HELD.has(event.key) && event.preventDefault()}
      onClick={(event) => {
        if (may) onClick()
        else if (!ready)
          event.currentTarget.closest('.request')?.querySelector<HTMLElement>('.exact')?.focus()
      }}
    >
      {children}
    </button>
  )
}
