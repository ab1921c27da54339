import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { onClockSet, viewerNowMs } from './clock.ts'
import { type LiveEvent, NO_ANSWER, type Source } from './source.ts'

export const SourceContext = createContext<Source>(null as never)
export const useSource = (): Source => useContext(SourceContext)

/** Before somebody is asked again who did not answer. */
const AGAIN_MS = 2_000

/**
 * Loads again whenever `keys` change, and what failed once the viewer is there again; keeps the old value until the new one is
 * there, so nothing jumps.
 */
export function useLoaded<T>(
  load: () => Promise<T>,
  keys: readonly unknown[],
): { value: T | undefined; error: string } {
  const [state, setState] = useState<{ value: T | undefined; error: string }>({ value: undefined, error: '' })
  const [tries, setTries] = useState(0)
  const again = () => setTries((before) => before + 1)
  useLive((event) => {
    if (event.type === 'connected' && state.error) again()
  })
  // The connection may have outlived what the request did not.
  useEffect(() => {
    if (state.error !== NO_ANSWER) return
    const timer = setTimeout(again, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [state])
  useEffect(() => {
    let wanted = true
    load().then(
      (value) => wanted && setState({ value, error: '' }),
      (error: Error) => wanted && setState((before) => ({ value: before.value, error: error.message })),
    )
    return () => {
      wanted = false
    }
  }, [...keys, tries])
  return state
}

/**
 * Loads again at once when `keys` change. When only `version` does, it waits for the last answer and `pauseMs` more, however
 * often it changes meanwhile: for what costs the viewer more than a change is worth.
 */
export function useFollowed<T>(
  load: () => Promise<T>,
  keys: readonly unknown[],
  version: number,
  pauseMs: number,
): { value: T | undefined; error: string } {
  const [round, setRound] = useState(0)
  const [answered, setAnswered] = useState(-1)
  const asked = useRef(version)
  const loaded = useLoaded(async () => {
    asked.current = version
    try {
      return await load()
    } finally {
      setAnswered(round)
    }
  }, [...keys, round])
  const isStale = answered === round && asked.current !== version
  useEffect(() => {
    if (!isStale) return
    const timer = setTimeout(() => setRound((before) => before + 1), pauseMs)
    return () => clearTimeout(timer)
  }, [isStale])
  return loaded
}

/** As long as a reader may take to notice what an answer came to. */
const TOLD_MS = 1_000

/**
 * Whether a screen reader tells what stands there: once what a search came to, and not each run that comes after it.
 *
 * @param value another one with each answer; undefined until it is whole.
 */
export function useToldOnce(search: string, value: unknown): 'polite' | 'off' {
  const [told, setTold] = useState<string>()
  const before = useRef({ search, value })
  if (before.current.search !== search) before.current = { search, value }
  const isAnswered = value !== undefined && value !== before.current.value
  useEffect(() => {
    if (!isAnswered) return
    const timer = setTimeout(() => setTold(search), TOLD_MS)
    return () => clearTimeout(timer)
  }, [search, isAnswered])
  return told === search ? 'off' : 'polite'
}

const listeners = new Set<(event: LiveEvent) => void>()

/** The page's one connection; called once, at the top. */
export function useLiveConnection(): void {
  const source = useSource()
  useEffect(
    () =>
      source.live((event) => {
        for (const listener of listeners) listener(event)
      }),
    [source],
  )
}

/** Listens to what changes; the newest `onEvent` is called. */
export function useLive(onEvent: (event: LiveEvent) => void): void {
  const latest = useRef(onEvent)
  latest.current = onEvent
  useEffect(() => {
    const listener = (event: LiveEvent) => latest.current(event)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }, [])
}

export type Keys = Record<string, (event: KeyboardEvent) => void>

/** Keys that work wherever the focus is, except while typing. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      // An open dialog has the keys to itself; Escape closes it, not what is behind it.
      if (document.querySelector('dialog[open]')) return
      const target = event.target as HTMLElement
      const typing = target.matches('input:not([type="checkbox"]), textarea, select')
      if (typing && event.key !== 'Escape') return
      const handle = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined
      if (handle) handle(event)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** The time of the viewer, in microseconds, again every `everyMs` while `active`. */
export function useNowUs(active: boolean, everyMs = 500): number {
  const [now, setNow] = useState(() => viewerNowMs() * 1000)
  useEffect(() => {
    if (!active) return
    const look = () => setNow(viewerNowMs() * 1000)
    const timer = setInterval(look, everyMs)
    const stop = onClockSet(look)
    return () => {
      clearInterval(timer)
      stop()
    }
  }, [active, everyMs])
  return active ? Math.max(now, 0) : now
}

/** While the page is being printed: then there is no window that only shows some of it. */
export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false)
  useEffect(() => {
    const [begin, end] = [() => setPrinting(true), () => setPrinting(false)]
    addEventListener('beforeprint', begin)
    addEventListener('afterprint', end)
    return () => {
      removeEventListener('beforeprint', begin)
      removeEventListener('afterprint', end)
    }
  }, [])
  return printing
}
