import { type Attributes, type Context, context, type Span, SpanStatusCode } from '@opentelemetry/api'
import type {
  Activity,
  ActivityEnd,
  ActivityScope,
  Annotation,
  OperationInfo,
  ToolEnd,
} from '../dispatcher/index.ts'
import { errorMessage, errorType } from '../internal/errors.ts'
import {
  compactEndAttributes,
  gateAttributes,
  humanEndAttributes,
  llmEndAttributes,
  operationEndAttributes,
  toolEndAttributes,
} from './attributes.ts'
import { ContentWriter, redacted } from './content.ts'
import type { GenAiMetrics } from './metrics.ts'
import type { ResolvedTraceOptions } from './options.ts'
import { GEN_AI, HOOKSPAN, OTEL } from './semconv.ts'
import { hrTime, type SpanClock } from './span-clock.ts'
import { contextAt, contextIn } from './span-context.ts'
import { formatTraceparent } from './traceparent.ts'

/** What all scopes of one plugin share. */
export interface ScopeShared {
  readonly options: ResolvedTraceOptions
  readonly metrics: GenAiMetrics | undefined
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
  /** For an agent call: the operation that goes on in its span. */
  adopted = false

  constructor(
    shared: ScopeShared,
    activity: Activity,
    info: OperationInfo,
    span: Span,
    parentContext: Context,
    clock: SpanClock,
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
  }

  get traceparent(): string {
    return formatTraceparent(this.span.spanContext())
  }

  get clock(): SpanClock {
    return this.#clock
  }

  run<T>(fn: () => T, place?: unknown): T {
    return context.with(place === undefined ? this.context : contextAt(this.context, place), fn)
  }

  annotate(annotation: Annotation): void {
    switch (annotation.kind) {
      case 'gate':
        this.span.addEvent('hookspan.gate', gateAttributes(annotation.record), this.#clock.now())
        return
      case 'mock':
        this.span.setAttribute(HOOKSPAN.mockSource, annotation.source)
        if (annotation.rule !== undefined) this.span.setAttribute(HOOKSPAN.mockRule, annotation.rule)
        return
      case 'retry':
        this.span.addEvent(
          'hookspan.retry',
          { 'hookspan.retry.attempt': annotation.attempt },
          this.#clock.now(),
        )
        return
      case 'custom':
        this.span.addEvent(annotation.name, { ...annotation.attributes }, this.#clock.now())
    }
  }

  end(end: ActivityEnd, timestamp?: number): void {
    this.span.setAttributes(this.#endAttributes(end))
    const failure = this.#failure(end)
    if (failure !== undefined) {
      this.span.setAttribute(OTEL.errorType, failure.type)
      this.span.setStatus({ code: SpanStatusCode.ERROR, message: this.#statusMessage(failure.message) })
    }
    const { metrics } = this.#shared
    if (metrics !== undefined) {
      const durationMs = performance.now() - this.#startedAt
      metrics.record(this.activity, this.info, end, durationMs, failure?.type)
    }
    if (this.#ownsSpan) this.span.end(hrTime(timestamp) ?? this.#clock.now())
  }

  #failure(end: ActivityEnd): { type: string; message: string } | undefined {
    if (end.error !== undefined) {
      // An operation that was stopped is no failure of it; its reason tells.
      if (end.kind === 'operation' && end.reason !== 'error') return undefined
      return { type: errorType(end.error), message: errorMessage(end.error) }
    }
    if (end.kind !== 'tool' || end.success !== false) return undefined
    const ran = end.outcome === 'completed' || end.outcome === 'mocked' || end.outcome === 'skipped'
    return ran ? { type: 'tool_error', message: 'the tool reported a failure' } : undefined
  }

  /** It is told without content being captured, and may quote what a tool or a model was given. */
  #statusMessage(message: string): string {
    const { redact } = this.#shared.options.content
    return String(redacted(redact, message, { ...this.#place(), attribute: 'error.message' }))
  }

  #place(): { operationId: string; toolName?: string } {
    const { activity, info } = this
    return { operationId: info.operationId, ...(activity.kind === 'tool' && { toolName: activity.apiName }) }
  }

  #endAttributes(end: ActivityEnd): Attributes {
    const { options } = this.#shared
    const { activity } = this
    switch (end.kind) {
      case 'operation': {
        const attributes = operationEndAttributes(end, options.usageOnAgentSpan)
        this.#content(attributes)?.output(end.content)
        return attributes
      }
      case 'llm': {
        const attributes = llmEndAttributes(end)
        const content = this.#content(attributes)
        if (content === undefined) return attributes
        if (end.request !== undefined && end.request !== (activity as { request?: unknown }).request)
          content.request(end.request)
        if (end.response !== undefined) content.response(end.response)
        return attributes
      }
      case 'tool': {
        const attributes = toolEndAttributes(end)
        const content = this.#content(attributes)
        if (content === undefined) return attributes
        if (end.args !== (activity as { args?: unknown }).args)
          content.object(GEN_AI.toolCallArguments, end.args, 'input')
        writeToolResult(content, end)
        return attributes
      }
      case 'human':
        return humanEndAttributes(end)
      case 'compact': {
        const attributes = compactEndAttributes(end)
        this.#content(attributes)?.text(HOOKSPAN.compactSummary, end.summary)
        return attributes
      }
      case 'agent':
        return end.subOperationId === undefined ? {} : { [HOOKSPAN.subOperationId]: end.subOperationId }
      case 'gate':
        return gateAttributes(end.gate)
      case 'step':
        return {}
    }
  }

  /** Undefined when content is not captured, so that nothing is paid for it. */
  #content(attributes: Attributes): ContentWriter | undefined {
    if (!this.#shared.options.content.capture) return undefined
    return new ContentWriter(this.#shared.options.content, attributes, this.#place())
  }
}

/** What the model was told, as an object where it is one. */
function writeToolResult(writer: ContentWriter, end: ToolEnd): void {
  const { result } = end
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result)
  if (isObject && !(result instanceof Error) && end.success !== false) {
    writer.object(GEN_AI.toolCallResult, result, 'content')
    return
  }
  // Read late: it is made when it is asked for.
  const { content } = end
  const object = content === undefined ? undefined : exactObject(content)
  if (object === undefined) writer.object(GEN_AI.toolCallResult, content ?? result, 'content')
  else writer.exactObject(GEN_AI.toolCallResult, object, content as string)
}

/** The object whose JSON is this text, byte for byte. A text that would look like one put into an object is no such. */
function exactObject(text: string): object | undefined {
  if (!text.startsWith('{') || text.startsWith('{"content":')) return undefined
  try {
    const value: object = JSON.parse(text)
    return JSON.stringify(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

/** An activity that has no span of its own: what happens in it belongs to its parent. */
export class PassThroughScope implements ActivityScope {
  readonly parent: SpanScope

  constructor(parent: SpanScope) {
    this.parent = parent
  }

  get traceparent(): string {
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
