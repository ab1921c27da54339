import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import type { ReadableSpan } from './types.ts'

const EXPORTER = '@opentelemetry/exporter-trace-otlp-http'

/**
 * What writes spans as an OTLP/JSON request, as the exporter itself does.
 *
 * @throws HookspanError `MISSING_DEPENDENCY`.
 */
export function otlpJsonWriter(neededBy: string): (spans: readonly ReadableSpan[]) => string {
  requirePeer(EXPORTER, neededBy)
  const { JsonTraceSerializer } = requireVia<{
    JsonTraceSerializer: { serializeRequest(spans: unknown): Uint8Array | undefined }
  }>(EXPORTER, '@opentelemetry/otlp-transformer')
  const decoder = new TextDecoder()
  return (spans) => decoder.decode(JsonTraceSerializer.serializeRequest(spans))
}
