/** Loading one run, and following it. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLive, useSource } from './hooks.ts'
import { RunMemory } from './run-memory.ts'
import type { RunData } from './source.ts'

/** The run's rows, kept up to date by asking only for what changed. */
export function useRun(traceId: string) {
  const source = useSource()
  const [state, setState] = useState<{
    run: Omit<RunData, 'seq'> | undefined
    error: string
    version: number
  }>({ run: undefined, error: '', version: 0 })
  const known = useRef({ memory: new RunMemory(), loading: false, again: false })
  const load = async () => {
    const now = known.current
    if (now.loading) {
      now.again = true
      return
    }
    now.loading = true
    try {
      const { memory } = now
      const since = memory.seq
      const reply = await source.run(traceId, since)
      if (now !== known.current) return
      const { isNews, isStale } = memory.take(since, reply)
      if (isStale) now.again = true
      // Nothing new, as after connecting: nothing is drawn again.
      else
        setState((before) =>
          isNews || before.error !== ''
            ? {
                run: { summary: reply.summary, rows: memory.rows, totalRows: reply.totalRows },
                error: '',
                version: before.version + 1,
              }
            : before,
        )
      // The rest when the rows in sight are painted.
      if (reply.totalRows) requestAnimationFrame(() => setTimeout(() => now === known.current && load()))
    } catch (error) {
      // It may come again, as another one.
      now.memory.startOver()
      setState((before) => ({ ...before, error: (error as Error).message }))
    } finally {
      now.loading = false
      if (now.again && now === known.current) {
        now.again = false
        void load()
      }
    }
  }
  // Not after the first frame: what was asked for before the page was there may have come by then.
  useLayoutEffect(() => {
    known.current = { memory: new RunMemory(), loading: false, again: false }
    setState({ run: undefined, error: '', version: 0 })
    void load()
  }, [traceId])
  useLive((event) => {
    // Who is there again may be another viewer, whose numbers begin anew.
    if (event.type === 'disconnected') known.current.memory.startOver()
    if (
      event.type === 'connected' ||
      (event.type === 'changed' && (!event.areAll || event.runs.some((id) => id.startsWith(traceId))))
    )
      void load()
  })
  return state
}
