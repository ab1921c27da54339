import type { Attributes } from '@opentelemetry/api'
import type { ContentOptions } from '../spans/content.ts'
import type { SpanFailure } from '../spans/end.ts'
import { fitText } from '../spans/fit-json.ts'
import { OTEL } from '../spans/names.ts'

/** The event of a span that failed, by the name that OpenTelemetry gives it. */
export const EXCEPTION_EVENT = 'exception'

const MAX_BYTES = 8_192

/** What is told of an error beside its message: where it was thrown. Undefined for what has no stack. */
export function exceptionOf(
  error: unknown,
  failure: SpanFailure,
  { redact, maxBytes }: ContentOptions,
): Attributes | undefined {
  const stack = stackOf(error)
  if (stack === undefined) return undefined
  // The first lines of a stack quote the message, which may say what must not leave the process.
  const frames = stack.slice(Math.max(stack.search(/^\s+at /m), 0))
  const text = redact === undefined ? stack : `${failure.type}: ${failure.message}\n${frames}`
  return {
    [OTEL.exceptionType]: failure.type,
    [OTEL.exceptionMessage]: failure.message,
    [OTEL.exceptionStacktrace]: fitText(text, Math.min(maxBytes, MAX_BYTES)).text,
  }
}

function stackOf(error: unknown): string | undefined {
  try {
    const { stack } = error as { stack?: unknown }
    return typeof stack === 'string' && /^\s+at /m.test(stack) ? stack : undefined
  } catch {
    return undefined
  }
}
