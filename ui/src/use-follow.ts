/** Staying at the end of what grows, until somebody scrolls away from it; at the end again, it is followed again. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'

/** So far from the end still counts as there. */
const NEAR_PX = 8
const TOUCHES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

export function useFollow(ref: { current: HTMLElement | null }, live: boolean, length: number) {
  const [on, setOn] = useState(true)
  const follows = live && on
  useLayoutEffect(() => {
    const element = ref.current
    if (follows && element) element.scrollTop = element.scrollHeight
  }, [follows, length])
  useEffect(() => {
    const element = ref.current
    if (!element || !live) return
    // What the reader does, not what we do for them.
    let touched = false
    const touch = () => {
      touched = true
    }
    const look = () => {
      if (touched) setOn(element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_PX)
    }
    for (const event of TOUCHES) element.addEventListener(event, touch, { passive: true })
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      for (const event of TOUCHES) element.removeEventListener(event, touch)
      element.removeEventListener('scroll', look)
    }
  }, [live])
  return { on, set: setOn }
}
