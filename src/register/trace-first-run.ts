import { isMainThread, threadId } from 'node:worker_threads'
import { hasOtherCopy } from '../dispatcher/copies.ts'
import type { HookDispatcher, Operation } from '../dispatcher/index.ts'
import { isWaitedFor } from '../internal/asked-for.ts'
import { errorMessage } from '../internal/errors.ts'
import { RUN_SEEN, UNTRACED, WORKER_ENDED, WORKER_RAN } from '../internal/run-report.ts'
import type * as TracingParts from '../tracing/index.ts'
import { shareRunning } from '../tracing/running.ts'
import { isSdkRegistered } from '../tracing/sdk/registered-sdk.ts'
import { tellOtherCopy } from './other-copy.ts'
import { report } from './report.ts'
import { requireOwn } from './require-own.ts'
import { tell } from './tell.ts'

/** A collector that hangs is waited for at the end, too: a gate would be over its time, and every call be denied. */
const PATIENCE_OF_GUARDS_MS = 500

export interface FirstRunTracing {
  /** Set where spans are sent by us, not by an OpenTelemetry SDK of the program's own. */
  readonly tracing: TracingParts.Tracing | undefined
  /** Nobody takes the spans. */
  readonly off: boolean
  readonly runs: number
  readonly last: Operation | undefined
}

/**
 * Traces from the first run on, and not before: by then a program that brings its own OpenTelemetry SDK has started it,
 * and spans go where that sends them.
 *
 * @param begun called at the first run, once it is traced.
 */
export function traceFirstRun(
  dispatcher: HookDispatcher,
  begun: (tracing: FirstRunTracing) => void,
): FirstRunTracing {
  const state: { -readonly [K in keyof FirstRunTracing]: FirstRunTracing[K] } = {
    tracing: undefined,
    off: false,
    runs: 0,
    last: undefined,
  }
  const { startOperation } = dispatcher
  dispatcher.startOperation = (init) => {
    if (state.runs === 0) {
      report(RUN_SEEN)
      if (hasOtherCopy()) tellOtherCopy('bundled inside', 'Leave hookspan out of the bundle, as external.')
      const how = traced(dispatcher)
      state.off = how === 'off'
      if (typeof how === 'object') state.tracing = how
      if (!isMainThread) reportEnd()
      begun(state)
    }
    const op = startOperation.call(dispatcher, init)
    if (init?.parent === undefined) {
      state.runs++
      state.last = op
    }
    return op
  }
  return state
}

/** A thread that is terminated says nothing of its end, nor sends what it has. */
function reportEnd(): void {
  const thread = `${process.pid}.${threadId}`
  report(WORKER_RAN + thread)
  process.once('exit', () => report(WORKER_ENDED + thread))
}

function traced(dispatcher: HookDispatcher): TracingParts.Tracing | 'by the program' | 'off' {
  if (/^true$/i.test(process.env.OTEL_SDK_DISABLED?.trim() ?? '')) return 'off'
  try {
    const { startTracing, traceHooks } = requireOwn<typeof TracingParts>('../tracing/index.js')
    if (isSdkRegistered()) {
      dispatcher.use(traceHooks())
      return 'by the program'
    }
    const { OTEL_EXPORTER_OTLP_TIMEOUT: own, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: ofTraces } = process.env
    const isShort = isWaitedFor() && !own?.trim() && !ofTraces?.trim()
    const tracing = startTracing(isShort ? { queue: { requestTimeoutMs: PATIENCE_OF_GUARDS_MS } } : {})
    shareRunning()
    dispatcher.use(tracing)
    return tracing
  } catch (error) {
    tell(`runs are not traced: ${errorMessage(error)}`)
    report(UNTRACED)
    return 'off'
  }
}
