import { formatAgo, formatCost, formatCount, formatDuration, statusWord } from '../model/format.ts'
import type { RunStatus, RunSummary } from '../model/span.ts'
import { elapsedMs } from '../model/timing.ts'
import { charsThatTell } from './chars-that-tell.ts'
import { type Paint, padEnd, padStart, type Style } from './paint.ts'

export const STATUS_STYLES: Record<RunStatus, Style> = {
  ok: 'green',
  failed: 'red',
  denied: 'red',
  interrupted: 'red',
  with_errors: 'yellow',
  running: 'blue',
  waiting: 'yellow',
}

export function runsText(
  runs: readonly RunSummary[],
  options: { paint: Paint; width: number; nowMs: number },
): string {
  const { paint, width, nowMs } = options
  const idChars = charsThatTell(runs.map((run) => run.traceId))
  const columns: {
    head: string
    right?: boolean
    of: (run: RunSummary) => string
    style?: (run: RunSummary) => Style
  }[] = [
    { head: 'RUN', of: (run) => run.traceId.slice(0, idChars), style: () => 'dim' },
    { head: 'STATUS', of: (run) => statusWord(run.status), style: (run) => STATUS_STYLES[run.status] },
    { head: 'AGENT', of: (run) => paint.safe(run.title || 'unnamed', 24), style: () => 'bold' },
    { head: 'TIME', right: true, of: (run) => formatDuration(elapsedMs(run, nowMs * 1000)) },
    { head: 'TOKENS', right: true, of: (run) => formatCount(run.inputTokens + run.outputTokens) },
    { head: 'COST', right: true, of: (run) => formatCost(run.costUsd) },
    { head: 'CALLS', right: true, of: (run) => `${run.llmCalls}+${run.toolCalls}` },
    { head: 'STARTED', right: true, of: (run) => formatAgo(nowMs - run.startUs / 1000), style: () => 'dim' },
  ]
  const cellRows = runs.map((run) => columns.map((column) => column.of(run)))
  const widths = columns.map((column, at) =>
    Math.max(column.head.length, ...cellRows.map((row) => [...row[at]!].length)),
  )
  const taken = widths.reduce((sum, each) => sum + each + 2, 0)
  const rest = Math.max(20, width - taken)
  const place = (text: string, at: number) =>
    columns[at]!.right ? padStart(text, widths[at]!) : padEnd(text, widths[at]!)
  const lines = [
    paint.style('dim', [...columns.map((column, at) => place(column.head, at)), 'INPUT'].join('  ')),
  ]
  for (const [index, run] of runs.entries()) {
    const parts = columns.map((column, at) => {
      const text = place(cellRows[index]![at]!, at)
      const style = column.style?.(run)
      return style ? paint.style(style, text) : text
    })
    const flags = flagsOf(run)
    const input = paint.safe(run.inputPreview, Math.max(10, rest - (flags ? flags.length + 3 : 0)))
    lines.push(
      [...parts, flags ? `${paint.style('yellow', `[${flags}]`)} ${input}` : input].join('  ').trimEnd(),
    )
  }
  return lines.join('\n')
}

function flagsOf(run: RunSummary): string {
  const flags: string[] = []
  if (run.waiting > 0) flags.push(`${run.waiting} waiting`)
  if (run.errors > 0) flags.push(`${run.errors} ${run.errors === 1 ? 'error' : 'errors'}`)
  if (run.mockedCalls > 0) flags.push(`${run.mockedCalls}/${run.toolCalls} mocked`)
  return flags.join(', ')
}
