import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import type { ReadableSpan, SpanExporter, SpanProcessor } from './types.ts'

const NODE_SDK = '@opentelemetry/sdk-node'
const SMALL_SDK = '@opentelemetry/sdk-trace'

interface WithConsole {
  readonly ConsoleSpanExporter: new () => SpanExporter
}

/** Prints each span as it ends, as the SDK's console exporter does. @throws HookspanError `MISSING_DEPENDENCY`. */
export function consoleSpans(neededBy: string): SpanProcessor {
  const { ConsoleSpanExporter } = withConsole(neededBy)
  const exporter = new ConsoleSpanExporter()
  return {
    onStart: () => {},
    onEnd: (span: ReadableSpan) => exporter.export([span], () => {}),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
}

/** The whole SDK of version 2 hands it on itself; that of version 3 only needs the package that has it. */
function withConsole(neededBy: string): WithConsole {
  let sdk: { readonly tracing?: WithConsole }
  try {
    sdk = requirePeer(NODE_SDK, neededBy)
  } catch (missing) {
    try {
      return requirePeer(SMALL_SDK, neededBy)
    } catch {
      throw missing
    }
  }
  return sdk.tracing ?? requireVia(NODE_SDK, SMALL_SDK)
}
