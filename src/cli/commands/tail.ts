import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import { formatDuration } from '../../viewer/model/format.ts'
import { rowTitle } from '../../viewer/model/row-title.ts'
import type { RunSummary, SpanRow } from '../../viewer/model/span.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import type { Paint } from '../../viewer/text/paint.ts'
import { shown } from '../render/shown.ts'
import { terminalPaint } from '../render/terminal.ts'
import { type SourceFlags, withRuns, withSourceFlags } from '../run-source.ts'

const EVERY_MS = 500
/** Runs looked at each time; older ones are no longer changing. */
const RECENT = 50

export function registerTail(program: Command): void {
  withSourceFlags(
    program
      .command('tail')
      .description('print what runs do, as they do it')
      .argument('[query...]', 'only runs that match, as in `hookspan runs`'),
  ).action(async (query: string[], flags: SourceFlags) => {
    await withRuns(flags, async (source) => {
      const stop = new AbortController()
      process.once('SIGINT', () => stop.abort())
      process.once('SIGTERM', () => stop.abort())
      await follow(source, query.join(' '), stop.signal, (run, row) => {
        if (flags.json)
          process.stdout.write(`${JSON.stringify({ traceId: run.traceId, agent: run.agent, ...row })}\n`)
        else process.stdout.write(`${line(run, row, terminalPaint())}\n`)
      })
    })
  })
}

/** Calls `tell` for each span that begins or ends from now on. */
async function follow(
  source: RunSource,
  query: string,
  signal: AbortSignal,
  tell: (run: RunSummary, row: SpanRow) => void,
): Promise<void> {
  const seen = new Map<string, { seq: number; spans: number; status: string }>()
  const told = new Set<string>()
  for (let first = true; !signal.aborted; first = false) {
    const { runs, problems = [] } = await source.listRuns(query, RECENT)
    for (const problem of problems.filter((one) => !told.has(one))) {
      told.add(problem)
      process.stderr.write(`${shown(problem)}\n`)
    }
    for (const summary of runs.reverse()) {
      const before = seen.get(summary.traceId)
      if (
        before &&
        before.spans === summary.spans &&
        before.status === summary.status &&
        summary.status !== 'running'
      )
        continue
      const run = await source.run(summary.traceId, before?.seq ?? 0)
      if (!run) continue
      seen.set(summary.traceId, { seq: run.seq, spans: summary.spans, status: summary.status })
      if (!first) for (const row of run.rows) tell(summary, row)
    }
    if (first) process.stderr.write(`Following ${shown(source.from)}. Ctrl+C ends.\n`)
    await setTimeout(EVERY_MS, undefined, { signal }).catch(() => {})
  }
}

function line(run: RunSummary, row: SpanRow, paint: Paint): string {
  const time = new Date((row.endUs || row.startUs) / 1000).toISOString().slice(11, 23)
  const what = row.endUs > 0 ? formatDuration((row.endUs - row.startUs) / 1000) : row.state
  const mark = row.error
    ? paint.style('red', ` ${paint.safe(row.errorText || 'error', 100)}`)
    : row.outcome && row.outcome !== 'completed'
      ? ` ${paint.safe(row.outcome, 20)}`
      : ''
  const preview = row.category === 'tool' ? paint.style('dim', ` ${paint.safe(row.preview, 80)}`) : ''
  return `${paint.style('dim', time)} ${paint.style('dim', run.traceId.slice(0, 8))} ${paint.safe(run.title, 20)}  ${row.category} ${paint.style('bold', paint.safe(rowTitle(row), 50))} ${what}${mark}${preview}`
}
