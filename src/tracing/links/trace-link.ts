import { setTimeout as sleep } from 'node:timers/promises'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { shownUrl } from '../../internal/shown-url.ts'
import { exportersByEnv, isDisabledByEnv } from '../export/environment.ts'
import type { ExportStats } from '../export/span-queue.ts'
import { idsOfOperation } from '../trace-ids.ts'
import { parseTraceparent } from '../traceparent.ts'
import { type Collector, collectorAt, describeCollector, jaegerHas } from './collector.ts'

/** How long Jaeger may take from a span's arrival to its page. */
const JAEGER_WAIT_MS = 2_000

/** Where a person looks at a run. */
export interface TraceLink {
  /** The page of the trace. Absent when nobody took the spans, and when no page is known. */
  readonly url?: string
  /** The 32 hex digits to search for; absent when the run has no trace. */
  readonly traceId?: string
  /** `url`, or the sentence that says why there is none and what to do. */
  readonly text: string
}

/** An {@link Operation}, or what `execAgent` gives. */
export interface LinkedRun {
  readonly operationId: string
  readonly traceparent?: string | undefined
}

export interface LinkSource {
  /** Undefined where an exporter of the user's own takes the spans. */
  readonly tracesUrl: string | undefined
  flush(): Promise<void>
  stats(): ExportStats
}

/** What has to be started, or said, where nobody takes spans. */
export const startSomething = (runner = 'npx') =>
  `Start \`${runner} hookspan view\`, or Jaeger with \`${runner} hookspan jaeger\`, or set OTEL_EXPORTER_OTLP_ENDPOINT.`

/** @throws HookspanError `INVALID_OPTION` for what is no run. */
export async function traceLink(run: LinkedRun, source: LinkSource): Promise<TraceLink> {
  const traceId = traceIdOf(run)
  if (isDisabledByEnv()) return { text: 'OTEL_SDK_DISABLED is set, so no span is made.' }
  if (source.tracesUrl !== undefined && !exportersByEnv(() => {}).otlp) {
    return { text: `Spans are not sent: OTEL_TRACES_EXPORTER is "${process.env.OTEL_TRACES_EXPORTER}".` }
  }
  if (traceId === undefined) {
    return { text: 'The run has no trace: `dispatcher.use(tracing)` has to come before it starts.' }
  }
  await source.flush()
  if (source.tracesUrl === undefined) {
    return { traceId, text: `Trace ${traceId} went to the \`exporter\` of startTracing().` }
  }
  const search = await collectorAt(source.tracesUrl)
  const { exported, lastError } = source.stats()
  if (lastError !== undefined && search.found) {
    const { tracesUrl } = search.collector
    return {
      traceId,
      text: `${shownUrl(tracesUrl)} does not take the spans: ${lastError}. Run \`npx hookspan doctor\`.`,
    }
  }
  // Who took the spans is there, also where a certificate or a proxy kept us from asking who it is.
  if (!search.found && (exported === 0 || lastError !== undefined)) {
    const { tracesUrl, why, mend } = search
    if (mend !== '') return { traceId, text: `${shownUrl(tracesUrl)} cannot be reached: ${why}${mend}.` }
    return { traceId, text: `Nothing answers at ${shownUrl(tracesUrl)} (${why}). ${startSomething()}` }
  }
  return linkAt(traceId, search.found ? search.collector : await describeCollector(source.tracesUrl))
}

async function linkAt(traceId: string, { kind, tracesUrl, pageOf }: Collector): Promise<TraceLink> {
  const url = pageOf(traceId)
  if (url === undefined) {
    const hint = 'JAEGER_UI_URL names the page of a Jaeger behind it.'
    return {
      traceId,
      text: `Trace ${traceId} was sent to ${shownUrl(tracesUrl)}, whose page is not known. ${hint}`,
    }
  }
  if (kind === 'Jaeger' && !(await arrives(url))) {
    return { traceId, url, text: `${url} (Jaeger does not have it: does ${shownUrl(tracesUrl)} lead there?)` }
  }
  return { traceId, url, text: url }
}

/** False only where Jaeger says so. */
async function arrives(page: string): Promise<boolean> {
  for (const deadline = performance.now() + JAEGER_WAIT_MS; ; await sleep(50)) {
    const has = await jaegerHas(page)
    if (has !== false) return true
    if (performance.now() > deadline) return false
  }
}

function traceIdOf(run: LinkedRun): string | undefined {
  if (typeof run?.operationId !== 'string') {
    throw new HookspanError(
      'INVALID_OPTION',
      `Expected linkTo() to get an operation or what execAgent() gives, got ${describeValue(run)}.`,
    )
  }
  if ('traceparent' in run) return parseTraceparent(run.traceparent)?.traceId
  return idsOfOperation(run.operationId).traceId
}
