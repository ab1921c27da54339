import {
  type Context,
  context,
  type HrTime,
  isSpanContextValid,
  type Span,
  type SpanContext,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Activity, ActivityEnd, ActivityScope, Annotation, OperationInfo } from '../dispatcher/index.ts'
import { endOf } from '../spans/end.ts'
import type { RunKeep } from '../spans/keep.ts'
import { HOOKSPAN, LANGFUSE_FIRST_CHUNK } from '../spans/names.ts'
import { noteOf } from '../spans/notes.ts'
import type { ContentEvents } from './content-events.ts'
import { EXCEPTION_EVENT, exceptionOf } from './exception.ts'
import type { GenAiMetrics } from './metrics.ts'
import type { ResolvedTraceOptions } from './options.ts'
import { epochMs, hrTime, type SpanClock } from './span-clock.ts'
import { contextAt, contextIn } from './span-context.ts'
import { formatTraceparent } from './traceparent.ts'

/** Told of a span that another process ends. `left`: it was that one's all along, and nothing of it is shown from here. */
export type HandOver = (span: Span, left: boolean) => void

/** What all scopes of one plugin share. */
export interface ScopeShared {
  readonly options: ResolvedTraceOptions
  readonly metrics: GenAiMetrics | undefined
  /** What was said, as events beside the spans. */
  readonly contentEvents?: ContentEvents | undefined
  readonly handOver?: HandOver
  /** Told of the span of a run that was left: it is to have the same id where it goes on, which may be here. */
  readonly left?: (spanId: string) => void
}

/** An activity as a span, or, where another activity already has the span, as a part of it. */
export class SpanScope implements ActivityScope {
  readonly span: Span
  readonly context: Context
  readonly activity: Activity
  readonly info: OperationInfo
  readonly #shared: ScopeShared
  readonly #ownsSpan: boolean
  /** On the monotonic clock; not read where nothing measures. */
  readonly #startedAt: number
  readonly #clock: SpanClock
  /** What the span lies below. */
  readonly parentContext: Context
  /** The run's own, with all that lies below it. */
  readonly keep: RunKeep
  /** For the call of an agent: the operation that goes on in its span. */
  adoptedBy: string | undefined

  constructor(
    shared: ScopeShared,
    activity: Activity,
    info: OperationInfo,
    span: Span,
    parentContext: Context,
    clock: SpanClock,
    keep: RunKeep,
    ownsSpan = true,
  ) {
    this.#clock = clock
    this.#shared = shared
    this.#startedAt = shared.metrics === undefined ? 0 : performance.now()
    this.activity = activity
    this.info = info
    this.span = span
    this.context = contextIn(parentContext, span)
    this.#ownsSpan = ownsSpan
    this.keep = keep
    keep.begun(activity)
    this.parentContext = parentContext
  }

  get traceparent(): string | undefined {
    return validTraceparent(this.span.spanContext())
  }

  get parentTraceparent(): string | undefined {
    return validTraceparent(trace.getSpanContext(this.parentContext))
  }

  get clock(): SpanClock {
    return this.#clock
  }

  run<T>(fn: () => T, place?: unknown): T {
    return context.with(place === undefined ? this.context : contextAt(this.context, place), fn)
  }

  annotate(annotation: Annotation): void {
    this.keep.noted(annotation)
    const { event, onSpan, attributes } = noteOf(annotation, this.info, this.#shared.options)
    if (onSpan) this.span.setAttributes(attributes)
    if (event !== undefined) this.span.addEvent(event, attributes, this.#clock.now())
  }

  end(end: ActivityEnd, timestamp?: number): void {
    const { options, metrics } = this.#shared
    const { attributes, failure } = endOf(this.activity, this.info, end, options)
    const endTime = hrTime(timestamp) ?? this.#clock.now()
    this.keep.ended(end, failure, epochMs(endTime))
    const { reason } = this.keep
    if (reason !== undefined) attributes[HOOKSPAN.operationKeep] = reason
    this.span.setAttributes(attributes)
    if (failure !== undefined) {
      this.span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message })
      const exception = 'error' in end ? exceptionOf(end.error, failure, options.content) : undefined
      if (exception !== undefined) this.span.addEvent(EXCEPTION_EVENT, exception, endTime)
    }
    if (end.kind === 'llm') this.#noteFirstChunk(end.timeToFirstChunkMs)
    this.#shared.contentEvents?.tell(this.activity, this.info, end, this.context)
    // It goes on in another process, and is ended there: one run is one span.
    if (isHandedOver(end)) {
      const left = 'left' in end && end.left === true
      if (left) this.#shared.left?.(this.span.spanContext().spanId)
      return this.#shared.handOver?.(this.span, left)
    }
    if (metrics !== undefined) {
      const durationMs = performance.now() - this.#startedAt
      metrics.record(this.activity, this.info, end, durationMs, failure?.type)
    }
    if (this.#ownsSpan) this.span.end(endTime)
  }

  /** For Langfuse, which wants the point in time. */
  #noteFirstChunk(afterMs: number | undefined): void {
    const { startTime } = this.span as { startTime?: HrTime }
    if (afterMs === undefined || startTime === undefined || this.#shared.options.semconv !== 'compat') return
    const ms = startTime[0] * 1_000 + startTime[1] / 1e6 + afterMs
    this.span.setAttribute(LANGFUSE_FIRST_CHUNK, new Date(ms).toISOString())
  }
}

/** Where tracing is off, spans have ids of zeros: nobody is to go on from those. */
function validTraceparent(context: SpanContext | undefined): string | undefined {
  return context !== undefined && isSpanContextValid(context) ? formatTraceparent(context) : undefined
}

/** Whether the run, or the call of an agent, waits for a human and goes on elsewhere. */
function isHandedOver(end: ActivityEnd): boolean {
  return (end.kind === 'operation' || end.kind === 'agent') && end.waitingFor !== undefined
}

/** An activity that has no span of its own: what happens in it belongs to its parent. */
export class PassThroughScope implements ActivityScope {
  readonly parent: SpanScope

  constructor(parent: SpanScope) {
    this.parent = parent
  }

  get traceparent(): string | undefined {
    return this.parent.traceparent
  }

  run<T>(fn: () => T, place?: unknown): T {
    return this.parent.run(fn, place)
  }

  annotate(annotation: Annotation): void {
    this.parent.annotate(annotation)
  }

  end(): void {}
}
