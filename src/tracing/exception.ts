import type { Attributes } from '@opentelemetry/api'
import { errorMessage } from '../internal/errors.ts'
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
  const text = redact === undefined ? stack : `${failure.type}: ${failure.message}\n${framesOf(stack, error)}`
  return {
    [OTEL.exceptionType]: failure.type,
    [OTEL.exceptionMessage]: failure.message,
    [OTEL.exceptionStacktrace]: fitText(text, Math.min(maxBytes, MAX_BYTES)).text,
  }
}

const FRAME = /^\s+at .*(?::\d+:\d+|<anonymous>|native|index \d+)\)?$/

/**
 * A stack begins with the message, which may say what must not leave the process: in lines that look like frames, too, where it
 * quotes another stack. It may have been changed since; then what has the shape of a frame is all that is known to be one.
 */
function framesOf(stack: string, error: unknown): string {
  const message = errorMessage(error)
  const start = stack.indexOf(message)
  const behind = start < 0 ? stack : stack.slice(start + message.length)
  return behind
    .split('\n')
    .filter((line) => FRAME.test(line))
    .join('\n')
}

function stackOf(error: unknown): string | undefined {
  try {
    const { stack } = error as { stack?: unknown }
    return typeof stack === 'string' && /^\s+at /m.test(stack) ? stack : undefined
  } catch {
    return undefined
  }
}
