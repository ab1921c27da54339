import { type ProxyTracerProvider, type TracerProvider, trace } from '@opentelemetry/api'
import type { HookDispatcher, Operation } from '../dispatcher/index.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import type * as TracingParts from '../tracing/index.ts'
import { requireOwn } from './require-own.ts'
import { tell } from './tell.ts'

export interface FirstRunTracing {
  /** Set where spans are sent by us, not by an OpenTelemetry SDK of the program's own. */
  readonly tracing: TracingParts.Tracing | undefined
  readonly runs: number
  readonly last: Operation | undefined
}

/**
 * Traces from the first run on, and not before: by then a program that brings its own OpenTelemetry SDK has started it,
 * and spans go where that sends them.
 */
export function traceFirstRun(dispatcher: HookDispatcher): FirstRunTracing {
  const state: { tracing: TracingParts.Tracing | undefined; runs: number; last: Operation | undefined } = {
    tracing: undefined,
    runs: 0,
    last: undefined,
  }
  const { startOperation } = dispatcher
  dispatcher.startOperation = (init) => {
    if (state.runs === 0) state.tracing = traced(dispatcher)
    const op = startOperation.call(dispatcher, init)
    if (init?.parent === undefined) {
      state.runs++
      state.last = op
    }
    return op
  }
  return state
}

function traced(dispatcher: HookDispatcher): TracingParts.Tracing | undefined {
  if (process.env.OTEL_SDK_DISABLED === 'true') return undefined
  try {
    const { startTracing, traceHooks } = requireOwn<typeof TracingParts>('../tracing/index.js')
    if (hasSdk()) {
      dispatcher.use(traceHooks())
      return undefined
    }
    const tracing = startTracing()
    dispatcher.use(tracing)
    return tracing
  } catch (error) {
    const why = error instanceof HookspanError && error.code === 'MISSING_DEPENDENCY'
    tell(why ? `runs are not traced. ${errorMessage(error)}` : `runs are not traced: ${errorMessage(error)}`)
    return undefined
  }
}

function hasSdk(): boolean {
  const provider = trace.getTracerProvider() as TracerProvider & Partial<ProxyTracerProvider>
  const name = provider.getDelegate?.().constructor.name
  return name !== undefined && name !== 'NoopTracerProvider'
}
