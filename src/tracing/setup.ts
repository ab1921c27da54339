import { context, diag, propagation, type TracerProvider, trace } from '@opentelemetry/api'
import type { Plugin } from '../dispatcher/index.ts'
import { within } from '../internal/async.ts'
import { describeValue, errorMessage, HookspanError } from '../internal/errors.ts'
import { withMethods } from '../internal/objects.ts'
import { requirePeer, requireVia } from '../internal/require-peer.ts'
import { ExitGuard } from './export/exit-guard.ts'
import { headersOf } from './export/headers.ts'
import { jsonRequest } from './export/otlp-json.ts'
import { postAtExit } from './export/post-at-exit.ts'
import { type ExportStats, SpanQueue, type SpanQueueOptions, type SpanSink } from './export/span-queue.ts'
import { deliverSpooled, Spool } from './export/spool.ts'
import { tcpProbe } from './export/tcp-probe.ts'
import { tracesUrlOf } from './export/traces-url.ts'
import type { ReadableSpan, SpanExporter, SpanProcessor } from './export/types.ts'
import { ViewerLink } from './export/viewer-link.ts'
import { type LinkedRun, type LinkSource, type TraceLink, traceLink } from './links/trace-link.ts'
import { resolveTraceOptions, type TraceHooksOptions } from './options.ts'
import { tracedBy } from './trace-hooks.ts'
import { operationIdGenerator } from './trace-ids.ts'

export interface StartTracingOptions extends Omit<TraceHooksOptions, 'tracer'> {
  /** Shown as the service in Jaeger. @default OTEL_SERVICE_NAME, else `hookspan` */
  serviceName?: string
  /**
   * Where the collector listens for OTLP/HTTP: `http://localhost:4318`, or the full URL of its traces route.
   *
   * @default OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT, else `http://localhost:4318`
   */
  endpoint?: string
  /** Sent with each request, for example an API key. */
  headers?: Record<string, string>
  /** Put on every span's resource. */
  resourceAttributes?: Record<string, string | number | boolean>
  /** Sends metrics, too: to `/v1/metrics` beside the traces route. Jaeger takes none. @default false */
  metrics?: boolean
  /** OpenTelemetry instrumentations, for example of undici, so that a tool's own calls are spans too. */
  instrumentations?: unknown[]
  /**
   * A folder in which spans are kept until they are delivered, so that they survive the process, SIGKILL included.
   * The next process with this folder delivers them. Costs a file write per span. @default none
   */
  spoolDir?: string
  /** How spans wait and are sent. */
  queue?: SpanQueueOptions
  /** Sends to something else than OTLP/HTTP, for example an in-memory exporter. */
  exporter?: SpanExporter
  /** See every span beside the sending of it, for example to keep a copy. */
  spanProcessors?: SpanProcessor[]
  /**
   * Ends what is open and sends what waits before the process ends: at SIGTERM, SIGINT, when there is nothing left to
   * do, at `process.exit()` and at an exception that nobody catches. A handler of the application's own decides on
   * the exit; ours only delays it, by 3 seconds at most. @default true
   */
  flushOnExit?: boolean
}

/** A plugin, and the way to end it. */
export interface Tracing extends Plugin {
  /** Sends what waits. Never rejects. @param options.timeoutMs default 5 000 */
  forceFlush(options?: { timeoutMs?: number }): Promise<void>
  /** Sends what waits and ends. Never rejects. @param options.timeoutMs default 5 000 */
  shutdown(options?: { timeoutMs?: number }): Promise<void>
  /** What was sent, what waits and what was lost. */
  stats(): ExportStats
  /** Where spans go. */
  readonly tracesUrl: string
  /**
   * Sends what waits, asks who takes it, and says where a person looks at the run: `console.log((await
   * tracing.linkTo(op)).text)`. Where nobody answers, `text` says so. Never rejects for what is away.
   *
   * @throws HookspanError `INVALID_OPTION` for what is no operation and no `AgentRun`.
   */
  linkTo(run: LinkedRun): Promise<TraceLink>
}

interface SdkModule {
  NodeSDK: new (options: Record<string, unknown>) => { start(): void; shutdown(): Promise<void> }
}

interface ResourcesModule {
  resourceFromAttributes(attributes: Record<string, unknown>): unknown
  envDetector: unknown
}

const SDK = '@opentelemetry/sdk-node'
const EXPORTER = '@opentelemetry/exporter-trace-otlp-http'

const INSTALL = ['@opentelemetry/api', SDK, EXPORTER]
const DEFAULT_DEADLINE_MS = 5_000
const AT_EXIT_MS = 2_000

/**
 * Starts an OpenTelemetry SDK that sends the spans of operations over OTLP/HTTP, and gives the plugin for it.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` naming the `npm install` line, `INVALID_OPTION` for a malformed
 * endpoint or when an OpenTelemetry SDK runs already (then use `traceHooks()` with it).
 * @example
 * const tracing = startTracing({ serviceName: 'support-bot' })
 * dispatcher.use(tracing)
 */
export function startTracing(options: StartTracingOptions = {}): Tracing {
  // All that may throw comes before the SDK starts, which nobody could stop after.
  resolveTraceOptions(options)
  const tracesUrl = tracesUrlOf(options.endpoint)
  refuseSecondSdk()
  const exporter = options.exporter ?? otlpExporter(tracesUrl, options)
  const spool = options.spoolDir === undefined ? undefined : openSpool(options.spoolDir)
  const sinks: SpanSink[] = []
  if (options.exporter === undefined) sinks.push(new ViewerLink(exporter, tracesUrl))
  if (spool !== undefined) sinks.push(spool)
  const onTrouble = options.queue?.onTrouble ?? ((message: string) => console.warn(`[hookspan] ${message}`))
  const probe = options.exporter === undefined ? tcpProbe(tracesUrl) : undefined
  const queue = new SpanQueue(exporter, { ...options.queue, onTrouble }, sinks, probe)
  const sdk = startSdk(queue, options, tracesUrl)
  if (options.spoolDir !== undefined)
    void deliverSpooled(options.spoolDir, poster(tracesUrl, headersOf(options.headers)))

  const tellLost = () => {
    const count = queue.undelivered
    if (count === 0 || spool !== undefined) return
    const hint = 'With startTracing({ spoolDir }) the next process sends them.'
    onTrouble(`${count} spans were not delivered before the end and are lost. ${hint}`)
  }
  const exitGuard = new ExitGuard(
    () => queue.forceFlush(),
    () => {
      // In `spoolDir` they are safe, and who did not answer a moment ago is not asked again.
      if (spool === undefined && queue.stats().lastError === undefined) sendAtExit(queue, tracesUrl, options)
      tellLost()
    },
  )
  if (options.flushOnExit !== false) exitGuard.install()
  let ending: Promise<void> | undefined
  const end = async (): Promise<void> => {
    // The API keeps the first provider for ever; without this a second startTracing() would get a dead one.
    trace.disable()
    context.disable()
    propagation.disable()
    await sdk.shutdown().catch((error: unknown) => diag.warn(`hookspan: ${errorMessage(error)}`))
    const { lastError } = queue.stats()
    spool?.close({ keep: lastError !== undefined })
    exitGuard.remove()
    tellLost()
  }
  const links: LinkSource = {
    tracesUrl: options.exporter === undefined ? tracesUrl : undefined,
    flush: () => within(DEFAULT_DEADLINE_MS, queue.forceFlush()),
    stats: () => queue.stats(),
  }
  const plugin: Plugin = {
    ...tracedBy({ ...options, tracer: trace.getTracer('hookspan') }, (span) =>
      queue.handOver(span as unknown as ReadableSpan),
    ),
    attached: (dispatcher) => exitGuard.watch(dispatcher),
  }
  return withMethods<Plugin, Omit<Tracing, keyof Plugin>>(plugin, {
    tracesUrl,
    stats: () => queue.stats(),
    linkTo: (run) => traceLink(run, links),
    forceFlush: ({ timeoutMs = DEFAULT_DEADLINE_MS } = {}) =>
      within(
        timeoutMs,
        queue.forceFlush().catch(() => {}),
      ),
    shutdown: ({ timeoutMs = DEFAULT_DEADLINE_MS } = {}) => {
      ending ??= end()
      return within(
        timeoutMs,
        ending.catch(() => {}),
      )
    },
  })
}

function startSdk(queue: SpanQueue, options: StartTracingOptions, tracesUrl: string) {
  const { NodeSDK } = requirePeer<SdkModule>(SDK, 'startTracing()', INSTALL)
  const resources = requireVia<ResourcesModule>(SDK, '@opentelemetry/resources')
  const serviceName = options.serviceName ?? process.env.OTEL_SERVICE_NAME ?? 'hookspan'
  const sdk = new NodeSDK({
    serviceName,
    spanProcessors: [queue, ...(options.spanProcessors ?? [])],
    idGenerator: operationIdGenerator(),
    instrumentations: options.instrumentations ?? [],
    resourceDetectors: [resources.envDetector],
    // Unsaid, the SDK sends metrics and logs to localhost:4318, and holds the process while nobody answers there.
    metricReaders: options.metrics ? [metricReader(tracesUrl, options.headers)] : [],
    logRecordProcessors: [],
    ...(options.resourceAttributes && {
      resource: resources.resourceFromAttributes(options.resourceAttributes),
    }),
  })
  sdk.start()
  return sdk
}

function metricReader(tracesUrl: string, headers: Record<string, string> | undefined): unknown {
  const { PeriodicExportingMetricReader } = requireVia<{
    PeriodicExportingMetricReader: new (options: Record<string, unknown>) => unknown
  }>(SDK, '@opentelemetry/sdk-metrics')
  const { OTLPMetricExporter } = requireVia<{
    OTLPMetricExporter: new (options: Record<string, unknown>) => unknown
  }>(SDK, '@opentelemetry/exporter-metrics-otlp-http')
  const url = tracesUrl.replace(/\/v1\/traces(\/?)$/, '/v1/metrics$1')
  return new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url, ...(headers && { headers }) }),
  })
}

function otlpExporter(url: string, options: StartTracingOptions): SpanExporter {
  const { OTLPTraceExporter } = requirePeer<{
    OTLPTraceExporter: new (config: Record<string, unknown>) => SpanExporter
  }>(EXPORTER, 'startTracing()', INSTALL)
  return new OTLPTraceExporter({
    url,
    ...(options.headers && { headers: options.headers }),
    timeoutMillis: options.queue?.requestTimeoutMs ?? 5_000,
  })
}

function openSpool(folder: string): Spool {
  try {
    return new Spool(folder, jsonRequest)
  } catch (error) {
    const why = `${describeValue(folder)}: ${errorMessage(error)}`
    throw new HookspanError('INVALID_OPTION', `Cannot write spans to \`spoolDir\` ${why}.`)
  }
}

/** Sends what waits from within an `exit` handler. What cannot be sent goes back into the count of the undelivered. */
function sendAtExit(queue: SpanQueue, url: string, options: StartTracingOptions): void {
  const batches = queue.takeBatches()
  if (batches.length === 0) return
  if (options.exporter !== undefined) {
    // One that writes to a file or to memory is done at once; nothing else can be done for the others.
    for (const batch of batches) options.exporter.export(batch, () => {})
    return
  }
  const bodies = batches.map(jsonRequest)
  const sent = postAtExit({ url, headers: headersOf(options.headers), bodies }, AT_EXIT_MS)
  queue.giveBack(batches.slice(sent))
}

function poster(
  url: string,
  headers: Record<string, string> | undefined,
): (body: string) => Promise<boolean> {
  return async (body) => {
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(10_000),
      })
      return answer.ok
    } catch {
      return false
    }
  }
}

function refuseSecondSdk(): void {
  const provider = trace.getTracerProvider() as TracerProvider & {
    getDelegate?: () => { constructor: { name: string } }
  }
  const name = provider.getDelegate?.().constructor.name
  if (name === undefined || name === 'NoopTracerProvider') return
  throw new HookspanError(
    'INVALID_OPTION',
    'An OpenTelemetry SDK is already running in this process, and spans of startTracing() would go nowhere. ' +
      'Use `dispatcher.use(traceHooks())` with it, or shut the other one down first.',
  )
}
