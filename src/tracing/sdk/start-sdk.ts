import { hostname } from 'node:os'
import {
  context,
  diag,
  type MeterProvider,
  propagation,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { defined } from '../../internal/objects.ts'
import { packageVersion } from '../../internal/package-version.ts'
import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import { SCHEMA_URLS } from '../../spans/names.ts'
import type { EventLogger } from '../content-events.ts'
import { type SpanExport, troubleOf } from '../export/start-export.ts'
import { besideTraces, tracesEndpoint } from '../export/traces-url.ts'
import { resolveTraceOptions } from '../options.ts'
import { operationIdGenerator } from '../trace-ids.ts'
import { spanLimitsByEnv, tellUnheld } from './environment.ts'
import { isSdkRegistered, registered, registeredVersion } from './registered-sdk.ts'
import { type ResourceAttributes, type ResourcesModule, wholeResource } from './resource.ts'
import { SMALL_SDK, startSmallSdk } from './small-sdk.ts'
import type { SdkOptions, SdkSettings, StartedSdk } from './types.ts'

/** What runs beside the sending of spans. */
export interface RunningSdk {
  /** Where content goes as events. */
  readonly logger: EventLogger | undefined
  /** Where the API could not take them: nobody else has them. */
  readonly own: Pick<StartedSdk, 'tracers' | 'meters'> | undefined
  /** Sends what waits of metrics and logs. Never rejects. */
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}

/** An SDK that is installed. */
export interface FoundSdk {
  /** Its package, which brings others along. */
  readonly name: string
  start(settings: SdkSettings): StartedSdk
}

interface NodeSdkModule {
  NodeSDK: new (
    options: Record<string, unknown>,
  ) => {
    start(): void
    shutdown(): Promise<void>
    readonly _tracerProvider?: TracerProvider
    readonly _meterProvider?: MeterProvider
  }
}

interface Flushed {
  forceFlush(): Promise<void>
}

const NODE_SDK = '@opentelemetry/sdk-node'
const NEEDED_BY = 'startTracing()'

/**
 * The whole SDK, or where it is not installed the small one.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` where neither is, and for metrics and logs where only the small one is.
 */
export function findSdk(options: SdkOptions): FoundSdk {
  const install = ['@opentelemetry/api', NODE_SDK]
  try {
    const { NodeSDK } = requirePeer<NodeSdkModule>(NODE_SDK, NEEDED_BY, install)
    return { name: NODE_SDK, start: (settings) => startNodeSdk(NodeSDK, settings) }
  } catch (missing) {
    try {
      requirePeer(SMALL_SDK, NEEDED_BY)
    } catch {
      throw missing
    }
    const more = options.metrics ? '`metrics`' : resolveTraceOptions(options).events && 'content as events'
    if (more) {
      requirePeer(NODE_SDK, `${NEEDED_BY} with ${more}`)
    }
    return { name: SMALL_SDK, start: startSmallSdk }
  }
}

export function startSdk(sdk: FoundSdk, sending: SpanExport, options: SdkOptions): RunningSdk {
  const { events, semconv } = resolveTraceOptions(options)
  const { url } = sending.target
  const headers = { ...tracesEndpoint(options.endpoint).headers, ...options.headers }
  const metricReader = options.metrics ? openMetrics(url, headers) : undefined
  const resourceAttributes = resourceOf(options)
  const logs = events ? openLogs(url, headers, resourceAttributes) : undefined
  const onTrouble = troubleOf(options)
  tellUnheld({ isSmall: sdk.name === SMALL_SDK, capture: options.captureContent === undefined }, onTrouble)
  const settings: SdkSettings = {
    resourceAttributes,
    spanProcessors: [...sending.processors, ...(options.spanProcessors ?? [])],
    idGenerator: operationIdGenerator(),
    instrumentations: options.instrumentations ?? [],
    metricReader,
  }
  const before = registered()
  let running: StartedSdk
  try {
    running = sdk.start(settings)
  } catch (error) {
    sending.endAtExit()
    throw error
  }
  const isRegistered = isSdkRegistered()
  const own = isRegistered || running.tracers === undefined ? undefined : running
  if (own !== undefined) {
    onTrouble(
      `@opentelemetry/api is here in several versions, and another one (${registeredVersion()}) is the first in this process. ` +
        'Spans are sent; what tools and instrumentations make is not below them.',
    )
  }
  const flushed = [metricReader, logs].filter((one) => one !== undefined) as Flushed[]
  return {
    own,
    logger: logs?.getLogger('hookspan', packageVersion(), { schemaUrl: SCHEMA_URLS[semconv] }),
    async forceFlush() {
      for (const settled of await Promise.allSettled(flushed.map((one) => one.forceFlush()))) {
        if (settled.status === 'rejected') diag.warn(`hookspan: ${settled.reason}`)
      }
    },
    async shutdown() {
      // The API keeps the first provider for ever; without this a second startTracing() would get a dead one. What was there
      // before is somebody else's.
      const now = registered()
      if (isRegistered) trace.disable()
      if (now.contexts && !before.contexts) context.disable()
      if (now.propagators && !before.propagators) propagation.disable()
      await logs?.shutdown()
      await running.shutdown()
    },
  }
}

/** Who speaks: the process, and hookspan as the distribution of the SDK, which adds itself. The environment may name the service. */
function resourceOf({ serviceName, resourceAttributes }: SdkOptions): ResourceAttributes {
  const known = {
    'service.name': 'hookspan',
    'process.pid': process.pid,
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node,
    'host.name': hostname(),
    'telemetry.distro.name': 'hookspan',
    'telemetry.distro.version': packageVersion(),
  }
  return {
    known,
    asked: { ...(serviceName !== undefined && { 'service.name': serviceName }), ...resourceAttributes },
  }
}

function startNodeSdk(NodeSDK: NodeSdkModule['NodeSDK'], settings: SdkSettings): StartedSdk {
  const resources = requireVia<ResourcesModule>(NODE_SDK, '@opentelemetry/resources')
  const { resourceAttributes, metricReader } = settings
  const sdk = new NodeSDK({
    spanProcessors: settings.spanProcessors,
    idGenerator: settings.idGenerator,
    instrumentations: settings.instrumentations,
    resourceDetectors: [],
    // Unsaid, the SDK sends metrics and logs to localhost:4318, and holds the process while nobody answers there.
    metricReaders: metricReader === undefined ? [] : [metricReader],
    logRecordProcessors: [],
    resource: wholeResource(resources, resourceAttributes),
    ...defined({ spanLimits: spanLimitsByEnv() }),
  })
  sdk.start()
  return {
    tracers: sdk._tracerProvider,
    meters: sdk._meterProvider,
    shutdown: () => sdk.shutdown(),
  }
}

interface LoggerProvider extends Flushed {
  getLogger(name: string, version: string, options: { schemaUrl: string }): EventLogger
  shutdown(): Promise<void>
}

type Exporting = new (options: Record<string, unknown>) => object

function openMetrics(tracesUrl: string, headers: Record<string, string>): unknown {
  const { PeriodicExportingMetricReader } = requireVia<{ PeriodicExportingMetricReader: Exporting }>(
    NODE_SDK,
    '@opentelemetry/sdk-metrics',
  )
  const { OTLPMetricExporter } = requireVia<{ OTLPMetricExporter: Exporting }>(
    NODE_SDK,
    '@opentelemetry/exporter-metrics-otlp-http',
  )
  const exporter = new OTLPMetricExporter({ url: besideTraces(tracesUrl, 'metrics'), headers })
  return new PeriodicExportingMetricReader({ exporter })
}

/** A provider of its own: where the API keeps the global one differs between versions of the SDK. */
function openLogs(
  tracesUrl: string,
  headers: Record<string, string>,
  resourceAttributes: SdkSettings['resourceAttributes'],
): LoggerProvider {
  const sdk = requireVia<{
    LoggerProvider: new (options: Record<string, unknown>) => LoggerProvider
    BatchLogRecordProcessor: Exporting
  }>(NODE_SDK, '@opentelemetry/sdk-logs')
  const { OTLPLogExporter } = requireVia<{ OTLPLogExporter: Exporting }>(
    NODE_SDK,
    '@opentelemetry/exporter-logs-otlp-http',
  )
  const exporter = new OTLPLogExporter({ url: besideTraces(tracesUrl, 'logs'), headers })
  // Of SDK 2 it takes the exporter, of SDK 3 an object that has it.
  const processor = new sdk.BatchLogRecordProcessor(Object.assign(exporter, { exporter }))
  const resources = requireVia<ResourcesModule>(NODE_SDK, '@opentelemetry/resources')
  return new sdk.LoggerProvider({
    resource: wholeResource(resources, resourceAttributes),
    processors: [processor],
  })
}
