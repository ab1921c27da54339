import {
  type Attributes,
  type AttributeValue,
  type Context,
  diag,
  type Exception,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
} from '@opentelemetry/api'
import type { ReadableSpan } from '../export/types.ts'
import {
  type AttributeLimits,
  cleanAttributes,
  copyValue,
  isAnyValue,
  isSimpleValue,
  lengthLimit,
  warnOfAttribute,
} from './attribute-values.ts'
import { durationOf, hrTimeOf, isTimeInput } from './span-times.ts'

/** How much a span keeps, as the SDK's provider resolved it. */
export interface SpanLimits extends AttributeLimits {
  readonly eventCountLimit: number
  readonly linkCountLimit: number
  readonly attributePerEventCountLimit: number
  readonly attributePerLinkCountLimit: number
}

/** What the SDK's provider hands to its processors, and we with it. */
export interface ProcessorOfSdk {
  onStart(span: LightSpan, context: Context): void
  onEnding?(span: LightSpan): void
  onEnd(span: LightSpan): void
}

/** What all spans of one tracer share. */
export interface SpanShared {
  readonly processor: ProcessorOfSdk
  readonly limits: SpanLimits
  readonly resource: ReadableSpan['resource']
  readonly instrumentationScope: unknown
}

export interface SpanStart {
  readonly name: string
  readonly kind: SpanKind
  readonly spanContext: SpanContext
  readonly parentSpanContext: SpanContext | undefined
  readonly startTime: HrTime
  /** Within the limits already, and nobody else's. */
  readonly attributes: Attributes
  readonly attributeCount: number
  readonly droppedAttributesCount: number
  readonly onEnded: (() => void) | undefined
}

export interface SpanEvent {
  readonly name: string
  readonly time: HrTime
  readonly attributes?: Attributes
  readonly droppedAttributesCount?: number
}

export interface SpanLink {
  readonly context: SpanContext
  readonly attributes?: Attributes
  readonly droppedAttributesCount?: number
}

/**
 * A span that processors and exporters of the SDK see as one of its own. What makes it light is that our attributes
 * are known to be plain: the SDK looks at each three times.
 */
export class LightSpan implements Span, ReadableSpan {
  name: string
  readonly kind: SpanKind
  readonly parentSpanContext: SpanContext | undefined
  readonly attributes: Attributes
  readonly links: SpanLink[] = []
  readonly events: SpanEvent[] = []
  readonly startTime: HrTime
  endTime: HrTime = [0, 0]
  status: SpanStatus = { code: SpanStatusCode.UNSET }
  readonly resource: ReadableSpan['resource']
  readonly instrumentationScope: unknown
  readonly #shared: SpanShared
  readonly #context: SpanContext
  readonly #onEnded: (() => void) | undefined
  /** At least as many as there are; counted anew where that would be too many. */
  #attributeCount: number
  #duration: HrTime = [-1, -1]
  #ended = false
  #droppedAttributes: number
  #droppedEvents = 0
  #droppedLinks = 0

  constructor(shared: SpanShared, start: SpanStart, context: Context) {
    this.name = start.name
    this.kind = start.kind
    this.parentSpanContext = start.parentSpanContext
    this.attributes = start.attributes
    this.startTime = start.startTime
    this.resource = shared.resource
    this.instrumentationScope = shared.instrumentationScope
    this.#shared = shared
    this.#context = start.spanContext
    this.#onEnded = start.onEnded
    this.#attributeCount = start.attributeCount
    this.#droppedAttributes = start.droppedAttributesCount
    shared.processor.onStart(this, context)
  }

  spanContext(): SpanContext {
    return this.#context
  }

  isRecording(): boolean {
    return !this.#ended
  }

  setAttribute(key: string, value: AttributeValue | undefined): this {
    if (this.#tooLate()) return this
    this.#set(key, value)
    return this
  }

  setAttributes(attributes: Attributes): this {
    if (this.#tooLate()) return this
    for (const key in attributes) if (Object.hasOwn(attributes, key)) this.#set(key, attributes[key])
    return this
  }

  #set(key: string, value: AttributeValue | undefined): void {
    const { limits } = this.#shared
    const plain =
      typeof value === 'string'
        ? value.length <= limits.attributeValueLengthLimit
        : typeof value === 'number' || typeof value === 'boolean'
    if (plain && key !== '' && this.#attributeCount < limits.attributeCountLimit) {
      this.#attributeCount++
      this.attributes[key] = value
    } else if (value !== undefined) {
      this.#setWithCare(key, value)
    }
  }

  #setWithCare(key: string, value: AttributeValue): void {
    const { limits } = this.#shared
    if (key === '') return warnOfAttribute(key)
    this.#attributeCount = Object.keys(this.attributes).length
    const isNew = !Object.hasOwn(this.attributes, key)
    if (isNew && this.#attributeCount >= limits.attributeCountLimit) {
      if (this.#droppedAttributes++ === 0) diag.warn('Dropping extra attributes.')
      return
    }
    if (!isAnyValue(value)) return warnOfAttribute(key)
    if (isNew) this.#attributeCount++
    this.attributes[key] = copyValue(value, lengthLimit(limits)) as AttributeValue
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    if (this.#tooLate()) return this
    const { eventCountLimit, attributePerEventCountLimit, attributeValueLengthLimit } = this.#shared.limits
    if (!makeRoom(this.events, eventCountLimit)) {
      this.#droppedEvents++
      if (eventCountLimit === 0) return this
    }
    const isTime = isTimeInput(attributesOrTime)
    const at = isTimeInput(time) ? time : isTime ? attributesOrTime : time
    const given = isTime ? undefined : attributesOrTime
    const limits = { attributeCountLimit: attributePerEventCountLimit, attributeValueLengthLimit }
    this.events.push({
      name,
      time: hrTimeOf(at),
      ...(typeof given === 'object' && given !== null && cleanAttributes(given, limits, isSimpleValue)),
    })
    return this
  }

  addLink({ context, attributes }: Link): this {
    if (this.#tooLate()) return this
    const { linkCountLimit, attributePerLinkCountLimit, attributeValueLengthLimit } = this.#shared.limits
    if (!makeRoom(this.links, linkCountLimit)) {
      this.#droppedLinks++
      if (linkCountLimit === 0) return this
    }
    const limits = { attributeCountLimit: attributePerLinkCountLimit, attributeValueLengthLimit }
    this.links.push({ context, ...(attributes && cleanAttributes(attributes, limits, isAnyValue)) })
    return this
  }

  addLinks(links: Link[]): this {
    for (const link of links) this.addLink(link)
    return this
  }

  /** OK stays, and UNSET changes nothing. */
  setStatus({ code, message }: SpanStatus): this {
    if (this.#tooLate() || code === SpanStatusCode.UNSET || this.status.code === SpanStatusCode.OK)
      return this
    const told = code === SpanStatusCode.ERROR && typeof message === 'string'
    this.status = told ? { code, message } : { code }
    return this
  }

  updateName(name: string): this {
    if (!this.#tooLate()) this.name = name
    return this
  }

  recordException(exception: Exception, time?: TimeInput): void {
    const attributes = exceptionAttributes(exception)
    if (attributes['exception.type'] || attributes['exception.message'])
      this.addEvent('exception', attributes, time)
    else diag.warn(`Failed to record an exception ${exception}`)
  }

  end(endTime?: TimeInput): void {
    if (this.#ended) {
      const { traceId, spanId } = this.#context
      diag.error(`${this.name} ${traceId}-${spanId} - You can only call end() on a span once.`)
      return
    }
    this.endTime = hrTimeOf(endTime)
    this.#duration = durationOf(this.startTime, this.endTime)
    if (this.#duration[0] < 0) {
      diag.warn('A span ended before it started; its duration is set to 0.', this.startTime, this.endTime)
      this.endTime = [...this.startTime]
      this.#duration = [0, 0]
    }
    const { processor } = this.#shared
    processor.onEnding?.(this)
    this.#onEnded?.()
    this.#ended = true
    processor.onEnd(this)
  }

  #tooLate(): boolean {
    if (!this.#ended) return false
    const { traceId, spanId } = this.#context
    diag.warn(`Cannot execute the operation on ended Span {traceId: ${traceId}, spanId: ${spanId}}`)
    return true
  }

  get duration(): HrTime {
    return this.#duration
  }

  get ended(): boolean {
    return this.#ended
  }

  get droppedAttributesCount(): number {
    return this.#droppedAttributes
  }

  get droppedEventsCount(): number {
    return this.#droppedEvents
  }

  get droppedLinksCount(): number {
    return this.#droppedLinks
  }
}

/** The oldest makes room for a new one. False when it had to. */
function makeRoom(list: unknown[], limit: number): boolean {
  if (list.length < limit) return true
  list.shift()
  return false
}

function exceptionAttributes(exception: Exception): Attributes {
  if (typeof exception === 'string') return { 'exception.message': exception }
  const { code, name, message, stack } = exception ?? {}
  const type = code ? code.toString() : name
  return {
    ...(type && { 'exception.type': type }),
    ...(message && { 'exception.message': message }),
    ...(stack && { 'exception.stacktrace': stack }),
  }
}
