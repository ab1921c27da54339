/** Loading one run, and following it. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'
import { useLive, useSource } from './hooks.ts'
import type { RunData } from './source.ts'

function sameSummary(before: RunSummary | undefined, after: RunSummary): boolean {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(after)
}

/** The run's rows, kept up to date by asking only for what changed. */
export function useRun(traceId: string) {
  const source = useSource()
  const [state, setState] = useState<{
    run: Omit<RunData, 'seq'> | undefined
    error: string
    version: number
  }>({ run: undefined, error: '', version: 0 })
  const known = useRef({
    traceId: '',
    rows: new Map<string, SpanRow>(),
    seq: 0,
    loading: false,
    again: false,
    summary: undefined as RunSummary | undefined,
  })
  const load = async () => {
    const memory = known.current
    if (memory.loading) {
      memory.again = true
      return
    }
    memory.loading = true
    try {
      const reply = await source.run(traceId, memory.seq)
      if (memory !== known.current) return
      memory.seq = reply.seq
      for (const row of reply.rows) memory.rows.set(row.spanId, row)
      // A run that died keeps its rows; only what they say of themselves changes.
      if (reply.summary.status === 'interrupted')
        for (const row of memory.rows.values()) if (row.endUs === 0) row.state = 'interrupted'
      // Nothing new, as after connecting: nothing is drawn again.
      if (reply.rows.length === 0 && sameSummary(known.current.summary, reply.summary)) return
      memory.summary = reply.summary
      setState((before) => ({
        run: { summary: reply.summary, rows: [...memory.rows.values()], totalRows: reply.totalRows },
        error: '',
        version: before.version + 1,
      }))
      // The rest when the rows in sight are painted.
      if (reply.totalRows) requestAnimationFrame(() => setTimeout(() => memory === known.current && load()))
    } catch (error) {
      setState((before) => ({ ...before, error: (error as Error).message }))
    } finally {
      memory.loading = false
      if (memory.again && memory === known.current) {
        memory.again = false
        void load()
      }
    }
  }
  // Not after the first frame: what was asked for before the page was there may have come by then.
  useLayoutEffect(() => {
    known.current = { traceId, rows: new Map(), seq: 0, loading: false, again: false, summary: undefined }
    setState({ run: undefined, error: '', version: 0 })
    void load()
  }, [traceId])
  useLive((event) => {
    if (
      event.type === 'connected' ||
      (event.type === 'changed' && (!event.areAll || event.runs.some((id) => id.startsWith(traceId))))
    )
      void load()
  })
  return state
}
