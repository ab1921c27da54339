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
import { noteOf } from './notes.ts'
import { continuesCall, type RenderOptions, startOf } from './start.ts'

type Attributes = Record<string, AttributeValue>

/** A span of the recorded run, in a shape that `toHaveSpans` and the trace file share. Times: milliseconds since 1970. */
export interface RecordedSpan {
  readonly name: string
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

  start(
    activity: Activity,
    info: OperationInfo,
    parent: ActivityScope | undefined,
    timestamp: number = now(),
  ): ActivityScope {
    const above = parent as TreeScope | undefined
    const { name, kind, attributes } = startOf(activity, info, WHOLE)
    if (above !== undefined && !above.adopted && continuesCall(activity, above.activity)) {
      above.adopted = true
      const scope = new TreeScope(above.span, activity, info, false)
      scope.set(attributes)
      return scope
    }
    const span: RecordedSpan = {
      name,
      traceId: above?.span.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      parentSpanId: above?.span.spanId,
      startTime: timestamp,
      endTime: undefined,
      attributes: {},
      events: [],
      status: { code: 0 },
      kind,
      children: [],
    }
    const siblings = above === undefined ? this.roots : above.span.children
    siblings.push(span)
    const scope = new TreeScope(span, activity, info, true)
    scope.set(attributes)
    return scope
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
  /** Whether the run of the called agent has this span, too. */
  adopted = false

  constructor(span: RecordedSpan, activity: Activity, info: OperationInfo, ownsSpan: boolean) {
    this.span = span
    this.activity = activity
    this.#info = info
    this.#ownsSpan = ownsSpan
  }

  run<T>(fn: () => T): T {
    return fn()
  }

  /** As in an SDK, nothing is added to a span that has ended. */
  set(attributes: Readonly<Record<string, AttributeValue | undefined>>): void {
    if (this.span.endTime !== undefined) return
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.span.attributes[name] = value
    }
  }

  annotate(annotation: Annotation): void {
    const { event, attributes } = noteOf(annotation)
    if (event === undefined) this.set(attributes)
    else if (this.span.endTime === undefined) {
      this.span.events.push({ name: event, time: now(), attributes: attributes as Attributes })
    }
  }

  end(end: ActivityEnd, timestamp: number = now()): void {
    if (this.span.endTime !== undefined) return
    const { attributes, failure } = endOf(this.activity, this.#info, end, WHOLE)
    this.set(attributes)
    if (failure !== undefined) this.span.status = { code: 2, message: failure.message }
    if (this.#ownsSpan) this.span.endTime = timestamp
  }
}

const now = () => performance.timeOrigin + performance.now()
