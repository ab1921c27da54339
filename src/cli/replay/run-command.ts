import { errorMessage } from '../../internal/errors.ts'
import { formatCost, formatCount, formatDuration } from '../../viewer/model/format.ts'
import type { OtlpTraces } from '../../viewer/otlp/types.ts'
import { treeText } from '../../viewer/text/tree-text.ts'
import { openTraceOutput, type TraceOutput } from '../export/trace-output.ts'
import { EXIT, UsageError } from '../failure.ts'
import { assertPeers } from '../peers.ts'
import { Progress } from '../render/progress.ts'
import { rowsOf } from '../render/rows.ts'
import { shown } from '../render/shown.ts'
import { plural, type Terminal, terminalOf } from '../render/terminal.ts'
import { operationIdsOf } from './operation-ids.ts'
import { type RecordedRun, readRecordings } from './recordings/index.ts'
import { describeFailure, type RunResult, replayAll } from './replay-all.ts'
import { firstTime } from './replay-run.ts'
import { addTally, emptyTally } from './tally.ts'

export interface ReplayCommandOptions {
  run?: string[]
  endpoint?: string
  out?: string
  content?: boolean
  maxContentBytes?: number
  recordedTimes?: boolean
  speed?: number
  concurrency: number
  label?: string
  model: string
  json?: boolean
}

/** Gives the exit code. */
export async function runReplayCommand(
  files: readonly string[],
  options: ReplayCommandOptions,
): Promise<number> {
  assertPeers('hookspan replay')
  // Everything is read before anything is sent: half a replay would be worse than none.
  const all: RecordedRun[] = []
  for (const file of new Set(files)) all.push(...(await readRecordings(file)))
  const ids = operationIdsOf(all, options.label)
  const runs = new Map(chosen(all, options.run).map((run) => [run, ids.get(run) as string]))
  const errors = terminalOf(process.stderr)
  if (options.recordedTimes) warnOfMissingTimes([...runs.keys()], errors)

  const startedAt = performance.now()
  const output = await openTraceOutput({
    endpoint: options.endpoint,
    file: options.out,
    serviceName: process.env.OTEL_SERVICE_NAME ?? 'hookspan-replay',
    captureContent: options.content,
    maxContentBytes: options.maxContentBytes,
  })
  const progress = new Progress(errors, runs.size, 'runs')
  let turns = 0
  let ended = 0
  let onlyTrace: OtlpTraces | undefined
  const results = await replayAll(runs, {
    ...options,
    output,
    captureContent: options.content,
    onRun: (result, trace) => {
      turns += result.modelTurns
      progress.update(++ended, plural(turns, 'model turn'))
      if (runs.size === 1) onlyTrace = trace
    },
  })
  const undelivered = await output.close()
  progress.clear()
  const tookMs = performance.now() - startedAt
  const failed = results.filter(({ error }) => error !== undefined)
  const summary = { results, failed, tookMs, undelivered, output, onlyTrace }
  if (options.json) printJson(summary)
  else printSummary(summary, terminalOf(process.stdout))
  for (const result of failed) {
    errors.line(`${errors.style('red', 'failed:')} ${describeFailure(result)}`)
  }
  if (undelivered !== undefined) {
    errors.line(
      `${errors.style('red', 'not delivered:')} ${undelivered} Run \`hookspan doctor\` for the cause.`,
    )
  }
  return failed.length > 0 || undelivered !== undefined ? EXIT.failed : EXIT.done
}

function chosen(runs: readonly RecordedRun[], wanted: readonly string[] | undefined): RecordedRun[] {
  if (wanted === undefined) return [...runs]
  const found = wanted.flatMap((name) => {
    const byId = runs.filter((run) => run.id === name)
    const matches = byId.length > 0 ? byId : runs.filter((run) => String(run.index) === name)
    if (matches.length > 0) return matches
    const some = runs.slice(0, 5).map(({ id }) => id)
    throw new UsageError(
      `There is no run "${shown(name)}". Give an id, such as ${shown(some.join(', '))}, or a position from 0 to ${runs.length - 1}.`,
    )
  })
  return [...new Set(found)]
}

function warnOfMissingTimes(runs: readonly RecordedRun[], { style, line }: Terminal): void {
  const without = runs.filter((run) => firstTime(run) === undefined)
  if (without.length === 0) return
  line(
    `${style('yellow', 'note:')} ${plural(without.length, 'run')} of ${runs.length} ` +
      `${without.length === 1 ? 'holds' : 'hold'} no times, so --recorded-times leaves the times of now there.`,
  )
}

interface Summary {
  results: readonly RunResult[]
  failed: readonly RunResult[]
  tookMs: number
  undelivered: string | undefined
  output: TraceOutput
  onlyTrace: OtlpTraces | undefined
}

function sumOf(results: readonly RunResult[]) {
  const sum = emptyTally()
  for (const result of results) addTally(sum, result)
  return sum
}

function printJson({ results, failed, tookMs, undelivered, output }: Summary): void {
  const { stats } = output.tracing
  const summary = {
    runs: results.length,
    failedRuns: failed.length,
    ...sumOf(results),
    durationMs: Math.round(tookMs),
    spansSent: stats().exported,
    endpoint: output.collector?.tracesUrl,
    file: output.filePath,
    undelivered,
    results: results.map(({ run, error, toolCallsByName, ...result }) => ({
      source: run.source,
      index: run.index,
      id: run.id,
      ...result,
      toolCallsByName,
      error: error === undefined ? undefined : errorMessage(error),
    })),
  }
  process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`)
}

function printSummary(
  { results, failed, tookMs, output, onlyTrace, undelivered }: Summary,
  terminal: Terminal,
): void {
  const { style, line } = terminal
  if (onlyTrace !== undefined) {
    for (const text of treeText(rowsOf(onlyTrace), {
      paint: terminal,
      width: terminal.columns,
      nowMs: Date.now(),
    }))
      line(text)
    line()
  }
  const sum = sumOf(results)
  const tokens = sum.inputTokens + sum.outputTokens
  const facts = [
    plural(sum.modelTurns, 'model turn'),
    plural(sum.toolCalls, 'tool call'),
    `${sum.failedCalls} failed`,
    ...(tokens > 0 ? [`${formatCount(sum.inputTokens)} → ${formatCount(sum.outputTokens)} tokens`] : []),
    ...(sum.costUsd > 0 ? [formatCost(sum.costUsd)] : []),
  ]
  const state = failed.length === 0 ? style('green', '✓') : style('red', `✗ ${failed.length} of`)
  line(`${state} ${plural(results.length, 'run')} replayed in ${formatDuration(tookMs)}: ${facts.join(', ')}`)
  if (output.filePath !== undefined) line(`  written to ${shown(output.filePath)}`)
  if (output.collector !== undefined && undelivered === undefined) {
    const { kind, tracesUrl, pageOf } = output.collector
    line(`  sent to the ${kind} at ${tracesUrl}`)
    const { traceId } = results[0] ?? {}
    const page = traceId === undefined ? undefined : (pageOf(traceId) ?? `trace ${traceId}`)
    if (page !== undefined) line(`  ${results.length === 1 ? '' : 'the first is '}${page}`)
  } else if (output.silence !== undefined && output.filePath === undefined && undelivered === undefined) {
    line(
      `  kept nowhere: nothing answers at ${output.silence.tracesUrl} (${output.silence.why}). ` +
        'Start `hookspan view` or Jaeger, or give --out FILE.',
    )
  }
}
