import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import { formatDuration } from '../../viewer/model/format.ts'
import { rowTitle } from '../../viewer/model/row-title.ts'
import type { RunSummary, SpanRow } from '../../viewer/model/span.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import type { Paint } from '../../viewer/text/paint.ts'
import { shown, shownJson } from '../render/shown.ts'
import { terminalPaint } from '../render/terminal.ts'
import { type SourceFlags, withRuns, withSourceFlags } from '../run-source.ts'
import { Following, type News } from '../tail/following.ts'

const EVERY_MS = 500

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
      await follow(source, query.join(' '), stop.signal, ({ run, row }, idChars) => {
        if (flags.json)
          process.stdout.write(`${shownJson({ traceId: run.traceId, agent: run.agent, ...row })}\n`)
        else process.stdout.write(`${line(run, row, idChars, terminalPaint())}\n`)
      })
    })
  })
}

/** Calls `tell` for each span that begins or ends from now on; waits for a viewer that is started again. */
async function follow(
  source: RunSource,
  query: string,
  signal: AbortSignal,
  tell: (news: News, idChars: number) => void,
): Promise<void> {
  const following = new Following(source, query)
  const told = new Set<string>()
  let [isFirst, isLost] = [true, false]
  while (!signal.aborted) {
    try {
      const { news, problems, idChars } = await following.look()
      for (const problem of problems.filter((one) => !told.has(one))) {
        told.add(problem)
        process.stderr.write(`${shown(problem)}\n`)
      }
      for (const one of news) tell(one, idChars)
      if (isFirst) process.stderr.write(`Following ${shown(source.from)}. Ctrl+C ends.\n`)
      if (isLost) process.stderr.write('It is there again.\n')
      isFirst = isLost = false
    } catch (error) {
      if (isFirst) throw error
      if (!isLost) process.stderr.write(`${shown(source.from)} does not answer; waiting for it.\n`)
      isLost = true
      following.startOver()
    }
    await setTimeout(EVERY_MS, undefined, { signal }).catch(() => {})
  }
}

function line(run: RunSummary, row: SpanRow, idChars: number, paint: Paint): string {
  const time = new Date((row.endUs || row.startUs) / 1000).toISOString().slice(11, 23)
  const what = row.endUs > 0 ? formatDuration((row.endUs - row.startUs) / 1000) : row.state
  const mark = row.error
    ? paint.style('red', ` ${paint.safe(row.errorText || 'error', 100)}`)
    : row.outcome && row.outcome !== 'completed'
      ? ` ${paint.safe(row.outcome, 20)}`
      : ''
  const preview = row.category === 'tool' ? paint.style('dim', ` ${paint.safe(row.preview, 80)}`) : ''
  return `${paint.style('dim', time)} ${paint.style('dim', run.traceId.slice(0, idChars))} ${paint.safe(run.title, 20)}  ${row.category} ${paint.style('bold', paint.safe(rowTitle(row), 50))} ${what}${mark}${preview}`
}
