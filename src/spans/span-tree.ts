import { randomBytes } from 'node:crypto'
import type { AttributeValue } from '@opentelemetry/api'
import type {
  Activity,
  ActivityEnd,
  ActivityScope,
  Annotation,
  Instrument,
  OperationInfo,
} from '../dispatcher/index.ts'
import { endOf } from './end.ts'
import { HOOKSPAN } from './names.ts'
import { noteOf, withNotesBefore } from './notes.ts'
import { continuesCall, type RenderOptions, startOf } from './start.ts'

type Attributes = Record<string, AttributeValue>
type AnyAttributes = Readonly<Record<string, AttributeValue | undefined>>

/** A span of the recorded run, in a shape that `toHaveSpans` and the trace file share. Times: milliseconds since 1970. */
export interface RecordedSpan {
  name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startTime: number
  /** Undefined while it is open. */
  endTime: number | undefined
  readonly attributes: Attributes
  readonly events: RecordedSpanEvent[]
  status: { code: 0 | 2; message?: string }
  readonly kind: 'internal' | 'client'
  readonly children: RecordedSpan[]
}

export interface RecordedSpanEvent {
  readonly name: string
  readonly time: number
  readonly attributes: Attributes
}

/** Nothing leaves the process, so that nothing is left out. */
const WHOLE: RenderOptions = {
  content: { capture: true, redact: undefined, maxBytes: Number.POSITIVE_INFINITY },
  semconv: 'compat',
  usageOnAgentSpan: false,
}

/** Keeps the spans of what happens, content included, without any tracing set up. */
export class SpanTree implements Instrument {
  readonly roots: RecordedSpan[] = []
  /** Operations by their ids, calls by their operation's id and their own key. */
  readonly #places = new Map<string, TreeScope>()
  readonly #spans = new Map<string, RecordedSpan>()

  start(
    activity: Activity,
    info: OperationInfo,
    parent: ActivityScope | undefined,
    timestamp: number = now(),
  ): ActivityScope {
    const live = parent as TreeScope | undefined
    const { name, kind, attributes } = startOf(activity, info, WHOLE)
    if (live !== undefined && continuesCall(activity, info, live)) {
      const wentOn = this.#places.get(info.operationId)?.span === live.span
      live.adoptedBy = info.operationId
      if (info.agentName !== undefined) live.span.name = name
      const scope = this.#scope(live.span, activity, info, false, attributes)
      return wentOn ? scope : withNotesBefore(scope)
    }
    const resumed = 'resumed' in activity ? activity.resumed : undefined
    const [traceId, spanId] = resumed?.traceparent?.split('-').slice(1) ?? []
    const known = resumed && this.#goesOn(spanId, info)
    if (known !== undefined) {
      delete known.attributes[HOOKSPAN.operationWaitingFor]
      return this.#scope(known, activity, info, true, attributes)
    }
    const above = live ?? this.#callerOf(info)
    const span: RecordedSpan = {
      name,
      traceId: traceId ?? above?.span.traceId ?? randomBytes(16).toString('hex'),
      spanId: spanId ?? randomBytes(8).toString('hex'),
      parentSpanId: resumed?.parentTraceparent?.split('-')[2] ?? above?.span.spanId,
      startTime: resumed?.startedAt ?? timestamp,
      endTime: undefined,
      attributes: {},
      events: [],
      status: { code: 0 },
      kind,
      children: [],
    }
    const siblings = above === undefined ? this.roots : above.span.children
    siblings.push(span)
    this.#spans.set(span.spanId, span)
    return withNotesBefore(this.#scope(span, activity, info, true, attributes))
  }

  #scope(
    span: RecordedSpan,
    activity: Activity,
    info: OperationInfo,
    ownsSpan: boolean,
    attributes: AnyAttributes,
  ): TreeScope {
    const scope = new TreeScope(span, activity, info, ownsSpan)
    scope.set(attributes)
    const { operationId } = info
    if (activity.kind === 'operation') this.#places.set(operationId, scope)
    else if ('callKey' in activity) this.#places.set(`${operationId} ${activity.callKey}`, scope)
    return scope
  }

  /** The span of a parked run. Where a tracer is in use as well, its ids are the run's, and ours are others. */
  #goesOn(spanId: string | undefined, { operationId }: OperationInfo): RecordedSpan | undefined {
    const parked = this.#places.get(operationId)?.span
    return this.#spans.get(spanId ?? '') ?? (parked?.endTime === undefined ? parked : undefined)
  }

  /** Who called an operation that got its parent as JSON. A tracer tells by its trace context. */
  #callerOf({ parentOperationId, parentCallKey }: OperationInfo): TreeScope | undefined {
    if (parentOperationId === undefined) return undefined
    return this.#places.get(`${parentOperationId} ${parentCallKey}`) ?? this.#places.get(parentOperationId)
  }

  /** Each above those below it. */
  get spans(): RecordedSpan[] {
    const all: RecordedSpan[] = []
    const walk = (spans: readonly RecordedSpan[]) => {
      for (const span of spans) {
        all.push(span)
        walk(span.children)
      }
    }
    walk(this.roots)
    return all
  }
}

class TreeScope implements ActivityScope {
  readonly span: RecordedSpan
  readonly activity: Activity
  readonly #info: OperationInfo
  readonly #ownsSpan: boolean
  /** The run of the called agent, which has this span, too. */
  adoptedBy: string | undefined

  constructor(span: RecordedSpan, activity: Activity, info: OperationInfo, ownsSpan: boolean) {
    this.span = span
    this.activity = activity
    this.#info = info
    this.#ownsSpan = ownsSpan
  }

  get traceparent(): string {
    return `00-${this.span.traceId}-${this.span.spanId}-01`
  }

  get parentTraceparent(): string | undefined {
    const { traceId, parentSpanId } = this.span
    return parentSpanId && `00-${traceId}-${parentSpanId}-01`
  }

  run<T>(fn: () => T): T {
    return fn()
  }

  /** As in an SDK, nothing is added to a span that has ended. */
  set(attributes: AnyAttributes): void {
    if (this.span.endTime !== undefined) return
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.span.attributes[name] = value
    }
  }

  annotate(annotation: Annotation): void {
    const { event, onSpan, attributes } = noteOf(annotation, this.#info, WHOLE)
    if (onSpan) this.set(attributes)
    if (event !== undefined && this.span.endTime === undefined) {
      this.span.events.push({ name: event, time: now(), attributes: attributes as Attributes })
    }
  }

  end(end: ActivityEnd, timestamp: number = now()): void {
    if (this.span.endTime !== undefined) return
    const { attributes, failure } = endOf(this.activity, this.#info, end, WHOLE)
    this.set(attributes)
    if (failure !== undefined) this.span.status = { code: 2, message: failure.message }
    // It goes on with the run.
    if ('waitingFor' in end && (end.kind === 'operation' || end.kind === 'agent')) return
    if (this.#ownsSpan) this.span.endTime = timestamp
  }
}

const now = () => performance.timeOrigin + performance.now()
