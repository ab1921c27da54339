import { callBeside, MAX_TIMER_MS, unref } from '../../internal/async.ts'
import { errorMessage } from '../../internal/errors.ts'
import { type Answer, type SpanSender, spanOf, written } from './parcel.ts'
import type { ExportResult, SpanExporter } from './types.ts'

const SUCCESS = 0

/** Sends through an exporter of OpenTelemetry's. `timeoutMs`: one that never answers must not hold the queue for ever. */
export function exporterSender(exporter: SpanExporter, timeoutMs: number): SpanSender {
  return {
    async send(parcels) {
      const spans = written(() => parcels.map(spanOf))
      if (!Array.isArray(spans)) return spans
      await spans[0]?.resource.waitForAsyncAttributes?.()
      return new Promise((resolve) => {
        const message = `no answer within ${timeoutMs} ms`
        const timer = setTimeout(
          () => resolve({ state: 'failed', message }),
          Math.min(timeoutMs + 1_000, MAX_TIMER_MS),
        )
        unref(timer)
        const done = (result: ExportResult) => {
          clearTimeout(timer)
          resolve(answerOf(result))
        }
        callBeside(
          () => exporter.export(spans, done),
          (error) => done({ code: 1, error: error as Error }),
        )
      })
    },
    async shutdown() {
      try {
        await exporter.shutdown()
      } catch {}
    },
  }
}

/** OTLP's exporters give the HTTP status as the error's code. */
function answerOf({ code, error }: ExportResult): Answer {
  if (code === SUCCESS) return { state: 'accepted', rejected: 0 }
  const message = errorMessage(error)
  const status = (error as { code?: unknown } | undefined)?.code
  if (status === 400 || status === 413 || status === 422) return { state: 'refused', status, message }
  if (status === 404 || status === 405 || status === 415 || status === 501) {
    return { state: 'unwanted', status, message }
  }
  return { state: 'failed', message, ...(typeof status === 'number' && { status }) }
}
