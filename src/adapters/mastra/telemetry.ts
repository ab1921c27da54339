import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { MastraOptions } from './sdk.ts'

/**
 * A span of Mastra's that is none, with all that Mastra asks of one: what is made below it is left out, too. Without one,
 * each part of a run would begin a trace of its own.
 */
const LEFT_OUT = {
  id: '',
  traceId: '',
  name: 'left out',
  type: 'generic',
  startTime: new Date(0),
  isEvent: false,
  isInternal: true,
  isRootSpan: false,
  isValid: false,
  end() {},
  endTree() {},
  error() {},
  update() {},
  createTracker: () => undefined,
  createChildSpan: (): unknown => LEFT_OUT,
  createEventSpan: (): unknown => LEFT_OUT,
  findParent: () => undefined,
  getParentSpanId: () => undefined,
  exportSpan: () => undefined,
  executeInContext: <T>(fn: () => T): T => fn(),
  executeInContextSync: <T>(fn: () => T): T => fn(),
}

/** What a run is called with, so that Mastra's own spans are left out or lie below ours. */
export function telemetryOf(
  run: ObservedRun,
  sdkSpans: 'omit' | 'nest' | undefined,
  options: MastraOptions | undefined,
): object {
  if (sdkSpans === 'omit') return { tracingContext: { currentSpan: LEFT_OUT } }
  // An agent of a tool lies below that tool already.
  if (sdkSpans === undefined || options?.tracingContext !== undefined) return {}
  const [, traceId, parentSpanId] = run.traceparent?.split('-') ?? []
  if (traceId === undefined) return {}
  return { tracingOptions: { traceId, parentSpanId, ...(options?.tracingOptions as object | undefined) } }
}
