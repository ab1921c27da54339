import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import type { Tracing } from 'hookspan/tracing'
import type { Workload } from '../harness/types.ts'
import { type Sending, sendingWorkload } from './agent-run-loop.ts'

type Exporter = ConstructorParameters<typeof BatchSpanProcessor>[0]['exporter']

/** The same, of a run that makes no spans. */
export function untraced(run: () => Promise<string>): Workload {
  return sendingWorkload(run, { flush: async () => {}, prove: async () => ({ spansPerRun: 0 }) })
}

/** Every span of every run must have come. */
export function sentPerRun({ spans, bytes }: { spans: number; bytes: number }, total: number) {
  const spansPerRun = spans / total
  if (spans === 0 || !Number.isInteger(spansPerRun)) throw new Error(`${spans} spans of ${total} runs came.`)
  return { spansPerRun, sentBytesPerRun: Math.round(bytes / total) }
}

/** Until hookspan has sent everything. */
export function flushOf(tracing: Tracing): Sending['flush'] {
  return async () => {
    await tracing.forceFlush()
    const { queued, dropped, lastError } = tracing.stats()
    if (queued + dropped > 0) throw new Error(`${queued} spans wait, ${dropped} were dropped: ${lastError}`)
  }
}

/**
 * Starts OpenTelemetry's SDK as its documentation sets it up, and the batch processor as it comes. Gives what waits until
 * everything is sent.
 *
 * @param limits of the processor, where runs make more than it keeps.
 */
export function startNodeSdk(exporter: Exporter, limits: { maxQueueSize?: number } = {}): Sending['flush'] {
  const processor = new BatchSpanProcessor({ exporter, ...limits })
  const sdk = new NodeSDK({
    serviceName: 'bench',
    spanProcessors: [processor],
    metricReaders: [],
    logRecordProcessors: [],
  })
  sdk.start()
  return async () => {
    await processor.forceFlush()
    // What a full batch had sent before.
    await exporter.forceFlush?.()
  }
}
