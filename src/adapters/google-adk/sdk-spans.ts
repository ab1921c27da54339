import { context, createContextKey } from '@opentelemetry/api'

/** By which OpenTelemetry's SDK knows that nothing is to be traced: keys of one name are one key. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

/** Runs what the SDK does by itself, whose spans are left out. */
export function withoutSpans<T>(fn: () => T): T {
  return context.with(context.active().setValue(SUPPRESSED, true), fn)
}

/** Runs what is the user's, inside of it. */
export function withSpans<T>(fn: () => T): T {
  return context.with(context.active().deleteValue(SUPPRESSED), fn)
}
