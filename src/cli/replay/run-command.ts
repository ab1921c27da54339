import { randomUUID } from 'node:crypto'
import { errorMessage } from '../../internal/errors.ts'
import { idsOfOperation } from '../../internal/operation-ids.ts'
import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { shownUrl } from '../../internal/shown-url.ts'
import { collectorHas } from '../../tracing/links/collector.ts'
import { DEFAULT_CONTENT_BYTES } from '../../tracing/options.ts'
import { formatCost, formatCount, formatDuration, visibleText } from '../../viewer/model/format.ts'
import { treeText } from '../../viewer/text/tree-text.ts'
import { openTraceOutput, type TraceOutput } from '../export/trace-output.ts'
import { EXIT, UsageError } from '../failure.ts'
import { assertPeers } from '../peers.ts'
import { Progress } from '../render/progress.ts'
import { rowsOf } from '../render/rows.ts'
import { shown } from '../render/shown.ts'
import { plural, printJson, type Terminal, terminalOf } from '../render/terminal.ts'
import { operationIdsOf } from './operation-ids.ts'
import { type RecordedRun, type RecordingError, readRecordings } from './recordings/index.ts'
import { describeFailure, type RunResult, replayAll } from './replay-all.ts'
import { firstTime } from './run-facts.ts'
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
  // Every file is read before anything is sent, so that a wrong one is told at once.
  const all: RecordedRun[] = []
  const bad: RecordingError[] = []
  for (const file of new Set(files)) {
    all.push(...(await readRecordings(file, { onBad: (error) => bad.push(error) })))
  }
  if (all.length === 0 && bad[0] !== undefined) throw bad[0]
  // Replayed again under the same ids, a run would be merged with itself: one trace with two roots.
  const ids = operationIdsOf(all, options.label ?? randomUUID())
  const runs = new Map(chosen(all, options.run).map((run) => [run, ids.get(run) as string]))
  const errors = terminalOf(process.stderr)
  if (options.recordedTimes) warnOfMissingTimes([...runs.keys()], errors)

  const startedAt = performance.now()
  const output = await openTraceOutput({
    endpoint: options.endpoint,
    file: options.out,
    serviceName: process.env.OTEL_SERVICE_NAME?.trim() || 'hookspan-replay',
    captureContent: options.content,
    maxContentBytes: options.maxContentBytes,
  })
  if (options.label !== undefined) await assertNew(runs, output, options.label)
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
  const summary = { results, failed, bad, tookMs, undelivered, output, onlyTrace }
  if (options.json) printSummaryJson(summary)
  else printSummary(summary, terminalOf(process.stdout))
  for (const result of failed) {
    errors.line(`${errors.style('red', 'failed:')} ${describeFailure(result)}`)
  }
  for (const error of bad) {
    errors.line(`${errors.style('red', 'left out:')} ${visibleText(errorMessage(error))}`)
  }
  printNotes(results, options.maxContentBytes, errors)
  if (undelivered !== undefined) {
    errors.line(
      `${errors.style('red', 'not delivered:')} ${undelivered} Run \`hookspan doctor\` for the cause.`,
    )
  }
  return failed.length + bad.length > 0 || undelivered !== undefined ? EXIT.failed : EXIT.done
}

/** @throws UsageError when the collector has a trace of these ids: spans of one id are one trace. */
async function assertNew(
  runs: ReadonlyMap<RecordedRun, string>,
  { collector, tracing }: TraceOutput,
  label: string,
): Promise<void> {
  if (collector === undefined) return
  for (const [run, operationId] of runs) {
    const { traceId } = idsOfOperation(operationId)
    if ((await collectorHas(collector, traceId)) !== true) continue
    await tracing.shutdown()
    throw new UsageError(
      `The ${collector.kind} at ${shownUrl(collector.tracesUrl)} has run "${shown(run.id)}" with the label "${shown(label)}" ` +
        `already (trace ${traceId}), and a second replay would be merged into it. Give another --label, or none.`,
    )
  }
}

/** What of the recordings is not in the traces, or was not in the recordings. */
function printNotes(
  results: readonly RunResult[],
  maxContentBytes: number | undefined,
  { style, line }: Terminal,
): void {
  const note = (text: string) => line(`${style('yellow', 'note:')} ${text}`)
  const cut = results.filter(({ cutBytes }) => cutBytes > 0)
  if (cut.length > 0) {
    const bytes = cut.reduce((sum, { cutBytes }) => sum + cutBytes, 0)
    note(
      `the content of ${cut.length} of ${plural(results.length, 'run')} was cut, by ${formatCount(bytes)} bytes: an attribute ` +
        `holds ${formatCount(maxContentBytes ?? DEFAULT_CONTENT_BYTES)}. Give --max-content-bytes for more.`,
    )
  }
  const invented = results.reduce((sum, result) => sum + result.inventedResults, 0)
  if (invented > 0) {
    note(
      `the recordings hold no result of ${plural(invented, 'tool call')}: what is told of ${invented === 1 ? 'it' : 'them'} ` +
        'is invented, and marked with hookspan.replay.invented.',
    )
  }
  for (const { run } of results) {
    for (const text of run.notes ?? [])
      note(`${shown(run.source)}, run ${run.index} (${shown(run.id)}): ${text}.`)
  }
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
  bad: readonly RecordingError[]
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

function printSummaryJson({ results, failed, bad, tookMs, undelivered, output }: Summary): void {
  const { stats } = output.tracing
  const summary = {
    runs: results.length,
    failedRuns: failed.length,
    leftOut: bad.map((error) => ({ ...error.place, error: errorMessage(error) })),
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
  printJson(summary)
}

function printSummary(
  { results, failed, bad, tookMs, output, onlyTrace, undelivered }: Summary,
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
  if (bad.length > 0) line(style('red', `  ${plural(bad.length, 'conversation')} left out`))
  if (output.filePath !== undefined) line(`  written to ${shown(output.filePath)}`)
  if (output.collector !== undefined && undelivered === undefined) {
    const { kind, tracesUrl, pageOf } = output.collector
    line(`  sent to the ${kind} at ${shownUrl(tracesUrl)}`)
    const { traceId } = results[0] ?? {}
    const page = traceId === undefined ? undefined : (pageOf(traceId) ?? `trace ${traceId}`)
    if (page !== undefined) line(`  ${results.length === 1 ? '' : 'the first is '}${page}`)
  } else if (output.silence !== undefined && output.filePath === undefined && undelivered === undefined) {
    line(
      `  kept nowhere: nothing answers at ${shownUrl(output.silence.tracesUrl)} (${output.silence.why}). ` +
        'Start `hookspan view` or Jaeger, or give --out FILE.',
    )
  }
}
