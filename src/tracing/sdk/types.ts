import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { ExportOptions } from '../export/start-export.ts'
import type { TraceHooksOptions } from '../options.ts'
import type { ResourceAttributes } from './resource.ts'

/** What an SDK is started with. */
export interface SdkSettings {
  readonly resourceAttributes: ResourceAttributes
  readonly spanProcessors: readonly unknown[]
  readonly idGenerator: unknown
  readonly instrumentations: readonly unknown[]
  readonly metricReader: unknown
}

/** An SDK that runs. */
export interface StartedSdk {
  readonly tracers: TracerProvider | undefined
  readonly meters?: MeterProvider | undefined
  shutdown(): Promise<void>
}

/** What of the options of `startTracing()` an SDK is started by. */
export interface SdkOptions extends TraceHooksOptions {
  readonly serviceName?: string
  readonly resourceAttributes?: Record<string, string | number | boolean>
  readonly metrics?: boolean
  readonly endpoint?: string
  readonly headers?: Record<string, string>
  readonly queue?: ExportOptions['queue']
  readonly spanProcessors?: readonly unknown[]
  readonly instrumentations?: readonly unknown[]
}
