import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import type { ReadableSpan, SpanExporter, SpanProcessor } from './types.ts'

const SDK = '@opentelemetry/sdk-node'

/** Prints each span as it ends, as the SDK's console exporter does. @throws HookspanError `MISSING_DEPENDENCY`. */
export function consoleSpans(neededBy: string): SpanProcessor {
  requirePeer(SDK, neededBy)
  const { ConsoleSpanExporter } = requireVia<{ ConsoleSpanExporter: new () => SpanExporter }>(
    SDK,
    '@opentelemetry/sdk-trace',
  )
  const exporter = new ConsoleSpanExporter()
  return {
    onStart: () => {},
    onEnd: (span: ReadableSpan) => exporter.export([span], () => {}),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
}
