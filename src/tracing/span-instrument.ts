import {
  type Context,
  context,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  trace,
} from '@opentelemetry/api'
import type { Activity, ActivityScope, Instrument, OperationInfo } from '../dispatcher/index.ts'
import { describeValue } from '../internal/errors.ts'
import { RunKeep } from '../spans/keep.ts'
import { withNotesBefore } from '../spans/notes.ts'
import { continuesCall, startOf } from '../spans/start.ts'
import type { SpanStarter } from './light/light-tracer.ts'
import type { ResolvedTraceOptions } from './options.ts'
import { epochMs, hrTime, SpanClock } from './span-clock.ts'
import { PassThroughScope, type ScopeShared, SpanScope } from './span-scope.ts'
import { idsOfOperation, RootSpans, spanIdOf, withIds } from './trace-ids.ts'
import { parseTraceparent } from './traceparent.ts'

interface Started {
  readonly span: Span
  readonly parentContext: Context
}

/** Activities become spans. */
export class SpanInstrument implements Instrument {
  readonly #tracer: SpanStarter
  readonly #shared: ScopeShared
  readonly #options: ResolvedTraceOptions
  readonly #rootSpans = new RootSpans()
  #warned = false

  constructor(tracer: SpanStarter, shared: ScopeShared) {
    this.#tracer = tracer
    this.#shared = { ...shared, left: (spanId) => this.#rootSpans.forget(spanId) }
    this.#options = shared.options
  }

  start(
    activity: Activity,
    info: OperationInfo,
    parent: ActivityScope | undefined,
    timestamp?: number,
  ): ActivityScope {
    const above = parent instanceof PassThroughScope ? parent.parent : (parent as SpanScope | undefined)
    if (activity.kind === 'step' && !this.#options.stepSpans && above !== undefined)
      return new PassThroughScope(above)
    const { name, kind, attributes } = startOf(activity, info, this.#options)
    if (above !== undefined && continuesCall(activity, info, above)) {
      const wentOn = above.adoptedBy !== undefined
      // The call ends the span that the two share.
      above.adoptedBy = info.operationId
      above.span.setAttributes(attributes)
      // The run may know a better name of the agent than who calls it.
      if (info.agentName !== undefined) above.span.updateName(name)
      const { span, parentContext, clock, keep } = above
      const scope = new SpanScope(this.#shared, activity, info, span, parentContext, clock, keep, false)
      return wentOn ? scope : withNotesBefore(scope)
    }
    const clock = above?.clock ?? new SpanClock()
    const startTime = hrTime(timestamp) ?? clock.now()
    const spanKind = kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL
    const options: SpanOptions = { kind: spanKind, attributes, startTime }
    const { span, parentContext } =
      this.#resume(activity, name, options) ??
      (above === undefined
        ? this.#startRoot(activity, info, name, options)
        : { span: this.#startBelow(activity, name, options, above.context), parentContext: above.context })
    const keep =
      above?.keep ?? new RunKeep(this.#options.keepOver, beginningOf(activity) ?? epochMs(startTime))
    return withNotesBefore(new SpanScope(this.#shared, activity, info, span, parentContext, clock, keep))
  }

  #startBelow(activity: Activity, name: string, options: SpanOptions, parentContext: Context): Span {
    const spanKey = 'spanKey' in activity ? activity.spanKey : undefined
    const start = () => this.#tracer.startSpan(name, options, parentContext)
    return spanKey === undefined ? start() : withIds({ spanId: spanIdOf(spanKey) }, start)
  }

  /** A run that goes on is the span that it was: of the same id, beginning and parent. */
  #resume(activity: Activity, name: string, options: SpanOptions): Started | undefined {
    const resumed = 'resumed' in activity ? activity.resumed : undefined
    const own = parseTraceparent(resumed?.traceparent)
    if (own === undefined) return undefined
    const active = context.active()
    const startTime = hrTime(resumed?.startedAt)
    if (startTime !== undefined) {
      const above = parseTraceparent(resumed?.parentTraceparent)
      const parentContext = above === undefined ? ROOT_CONTEXT : trace.setSpanContext(active, above)
      const again = { ...options, startTime, root: above === undefined }
      const span = withIds(own, () => this.#tracer.startSpan(name, again, parentContext))
      if (span.spanContext().spanId === own.spanId) return { span, parentContext }
    }
    // An SDK that makes ids of its own, or a state that an older version saved: what goes on lies below what was.
    const parentContext = trace.setSpanContext(active, own)
    return { span: this.#tracer.startSpan(name, options, parentContext), parentContext }
  }

  /** Once on the console: whoever may send a header could fill a log with it. */
  #warnOfTraceparent(given: unknown): void {
    const warning =
      `[hookspan] Ignored the traceparent ${describeValue(given)}: expected 00-<32 hex digits>-<16>-<2>. ` +
      'The run has a trace of its own.'
    if (this.#warned) return diag.warn(warning)
    this.#warned = true
    console.warn(warning)
  }

  #startRoot(activity: Activity, info: OperationInfo, name: string, options: SpanOptions): Started {
    const active = context.active()
    const given = activity.kind === 'operation' ? activity.traceparent : undefined
    if (given !== undefined) {
      const remote = parseTraceparent(given)
      if (remote !== undefined) {
        const parentContext = trace.setSpanContext(active, remote)
        return { span: this.#tracer.startSpan(name, options, parentContext), parentContext }
      }
      this.#warnOfTraceparent(given)
    }
    if (trace.getSpanContext(active) !== undefined) {
      return { span: this.#tracer.startSpan(name, options, active), parentContext: active }
    }
    const ids = idsOfOperation(info.rootOperationId)
    const start = () => this.#tracer.startSpan(name, { ...options, root: true }, active)
    // Only the root operation itself has the root's span id; a child in another process gets one of its own.
    if (info.rootOperationId === info.operationId) {
      const { traceId } = ids
      const rootIds = this.#rootSpans.isNew(ids.spanId) ? ids : { traceId }
      return { span: withIds(rootIds, start), parentContext: active }
    }
    const parentContext = trace.setSpanContext(active, { ...ids, traceFlags: 1, isRemote: true })
    return { span: this.#tracer.startSpan(name, options, parentContext), parentContext }
  }
}

/** Of a run that goes on: when it began. */
function beginningOf(activity: Activity): number | undefined {
  return 'resumed' in activity ? activity.resumed?.startedAt : undefined
}
