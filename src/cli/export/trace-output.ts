import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { jsonRequest } from '../../tracing/export/otlp-json.ts'
import { type SpanExporter, startTracing, type Tracing } from '../../tracing/index.ts'
import { type Collector, findCollector } from '../../tracing/links/collector.ts'
import { OtlpFile } from './otlp-file.ts'
import { SpanKeeper } from './span-keeper.ts'

export interface TraceOutputOptions {
  /** Where spans are sent; without it, to whoever listens at the usual place. */
  endpoint?: string | undefined
  /** Where spans are written as OTLP/JSON. */
  file?: string | undefined
  serviceName: string
  captureContent?: boolean | undefined
  maxContentBytes?: number | undefined
}

/** Where the traces of a command go: a collector that listens, a file, and the command's own eyes. */
export interface TraceOutput {
  readonly tracing: Tracing
  readonly collector: Collector | undefined
  /** Why there is no collector. */
  readonly silence: { readonly tracesUrl: string; readonly why: string } | undefined
  readonly filePath: string | undefined
  /** The spans of a trace that has ended; writes them into the file, too. To be called once for each trace. */
  finish(traceId: string): OtlpTraces
  /** Sends what waits and ends. Gives why spans were not delivered, if they were not. */
  close(): Promise<string | undefined>
}

/** @throws HookspanError for an endpoint that is no URL, a file that cannot be written or a missing peer. */
export async function openTraceOutput(options: TraceOutputOptions): Promise<TraceOutput> {
  const { endpoint, serviceName, captureContent, maxContentBytes } = options
  const search = await findCollector(endpoint)
  // A collector that was named is sent to in any case, so that its failure is told as one.
  const sends = search.found || endpoint !== undefined
  const file = options.file === undefined ? undefined : new OtlpFile(options.file)
  const keeper = new SpanKeeper()
  const troubles: string[] = []
  const tracing = startTracing({
    serviceName,
    spanProcessors: [keeper],
    ...{ endpoint, captureContent, maxContentBytes },
    exporter: sends ? undefined : NOWHERE,
    queue: { onTrouble: (message) => troubles.push(message) },
  })
  return {
    tracing,
    collector: search.found ? search.collector : undefined,
    silence: search.found ? undefined : search,
    filePath: file?.path,
    finish(traceId) {
      const text = jsonRequest(keeper.take(traceId)).toString()
      file?.add(text)
      return JSON.parse(text) as OtlpTraces
    },
    async close() {
      await tracing.shutdown({ timeoutMs: 30_000 })
      file?.close()
      if (!sends) return undefined
      const { dropped, queued, lastError } = tracing.stats()
      if (dropped + queued === 0) return undefined
      // A command that ends sends nothing later.
      const [trouble] = troubles.map((text) => text.replace(/ \d+ spans are kept in memory .*$/, ''))
      return trouble ?? `${dropped + queued} spans were not delivered: ${lastError ?? 'no answer in time'}.`
    },
  }
}

const NOWHERE: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: async () => {},
}
