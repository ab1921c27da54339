/** Staying at the end of what grows, until somebody goes away from it; at the end again, it is followed again. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'

/** So far from the end still counts as there. */
const NEAR_PX = 8
const TOUCHES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

/** @param begins whether it is followed from the beginning: not where one came for something in it. */
export function useFollow(
  ref: { current: HTMLElement | null },
  live: boolean,
  length: number,
  begins: boolean,
) {
  const [on, setOn] = useState(begins)
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
      if (touched) setOn(isAtEnd(element))
    }
    for (const event of TOUCHES) element.addEventListener(event, touch, { passive: true })
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      for (const event of TOUCHES) element.removeEventListener(event, touch)
      element.removeEventListener('scroll', look)
    }
  }, [live])
  return {
    on,
    set: setOn,
    /** What was scrolled to on the reader's behalf is away from the end. */
    leave: () => {
      if (ref.current && !isAtEnd(ref.current)) setOn(false)
    },
  }
}

function isAtEnd({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean {
  return scrollTop + clientHeight >= scrollHeight - NEAR_PX
}
