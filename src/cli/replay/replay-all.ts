import type { OpenAI } from 'openai'
import { HookDispatcher } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import { startScriptedServer } from '../../mock/scripted-server/index.ts'
import { HOOKSPAN } from '../../tracing/index.ts'
import { visibleText } from '../../viewer/model/format.ts'
import type { TraceOutput } from '../export/trace-output.ts'
import { shown } from '../render/shown.ts'
import type { RecordedRun } from './recordings/index.ts'
import { type ReplayRunOptions, replayRun } from './replay-run.ts'
import { ServedTurns } from './served-turns.ts'
import { differenceOf, type Tally, TallyPlugin } from './tally.ts'

export interface ReplayAllOptions
  extends Pick<ReplayRunOptions, 'model' | 'recordedTimes' | 'speed' | 'captureContent'> {
  output: TraceOutput
  /** Runs at once. */
  concurrency: number
  /** Told of each run when it has ended. */
  onRun: (result: RunResult, trace: OtlpTraces | undefined) => void
}

export interface RunResult extends Tally {
  readonly run: RecordedRun
  readonly operationId: string
  readonly traceId: string | undefined
  /** Bytes of content that spans of the run left out, to keep within what an attribute may hold. */
  readonly cutBytes: number
  /** Calls whose result the recording does not hold. */
  readonly inventedResults: number
  /** Why the replay is not what was recorded. */
  readonly error?: unknown
}

/** Replays runs, several at once, against one scripted server. Never throws for what a run did. */
export async function replayAll(
  runs: ReadonlyMap<RecordedRun, string>,
  options: ReplayAllOptions,
): Promise<RunResult[]> {
  const { OpenAI: Client } = requirePeer<{ OpenAI: typeof OpenAI }>('openai', 'hookspan replay')
  const turns = new ServedTurns()
  await using server = await startScriptedServer({ respond: turns.respond, recordRequests: false })
  const client = new Client({ apiKey: 'replay', baseURL: server.baseURL, maxRetries: 0 })
  const tally = new TallyPlugin()
  const dispatcher = new HookDispatcher()
  dispatcher.use(options.output.tracing)
  dispatcher.use(tally)

  const replayOne = async (run: RecordedRun, operationId: string): Promise<RunResult> => {
    turns.add(operationId, run)
    let traceId: string | undefined
    let error: unknown
    try {
      ;({ traceId } = await replayRun(run, { ...options, dispatcher, client, operationId }))
    } catch (thrown) {
      error = thrown
    }
    turns.remove(operationId)
    const counts = tally.take(operationId)
    const difference = error === undefined ? differenceOf(counts, run) : undefined
    if (difference !== undefined) error = new Error(`The replay differs from the recording: ${difference}.`)
    const trace = traceId === undefined ? undefined : options.output.finish(traceId)
    const result = {
      ...{ run, operationId, traceId, ...counts, ...defined({ error }) },
      ...{ cutBytes: cutBytesOf(trace), inventedResults: inventedIn(run) },
    }
    options.onRun(result, trace)
    return result
  }
  // Awaited here, or the server would be gone before the first request.
  return await pooled([...runs], options.concurrency, ([run, operationId]) => replayOne(run, operationId))
}

export function describeFailure({ run, error }: RunResult): string {
  return `${shown(run.source)}, run ${run.index} (${shown(run.id)}): ${visibleText(errorMessage(error))}`
}

function cutBytesOf(trace: OtlpTraces | undefined): number {
  const spans = (trace?.resourceSpans ?? []).flatMap(({ scopeSpans }) =>
    (scopeSpans ?? []).flatMap((scope) => scope.spans ?? []),
  )
  return spans
    .flatMap(({ attributes }) => attributes ?? [])
    .filter(({ key }) => key === HOOKSPAN.contentCutBytes)
    .reduce((sum, { value }) => sum + Number(value?.intValue ?? 0), 0)
}

function inventedIn({ calls, items }: RecordedRun): number {
  return calls.filter(({ resultItem }) => {
    const result = resultItem === undefined ? undefined : items[resultItem]
    return result?.kind !== 'toolResult' || result.invented
  }).length
}

/** Works off a list, so many at once, and gives the results in the order of the list. */
async function pooled<T, R>(items: readonly T[], size: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await work(items[index] as T)
    }
  }
  await Promise.all(Array.from({ length: Math.min(size, items.length) }, worker))
  return results
}
