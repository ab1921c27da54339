import type { Attributes, HrTime, SpanContext, SpanKind, SpanStatus } from '@opentelemetry/api'

/** Structural twins of the SDK's types, the same in its versions 2 and 3: the SDK is an optional peer. */
export interface ReadableSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly spanContext: () => SpanContext
  readonly parentSpanContext?: SpanContext
  readonly startTime: HrTime
  readonly endTime: HrTime
  readonly status: SpanStatus
  readonly attributes: Attributes
  readonly links: readonly unknown[]
  readonly events: readonly unknown[]
  readonly duration: HrTime
  readonly ended: boolean
  readonly resource: { asyncAttributesPending?: boolean; waitForAsyncAttributes?(): Promise<void> }
  readonly instrumentationScope: unknown
  readonly droppedAttributesCount: number
  readonly droppedEventsCount: number
  readonly droppedLinksCount: number
}

export interface ExportResult {
  /** 0: success. */
  readonly code: number
  readonly error?: Error
}

export interface SpanExporter {
  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void
  shutdown(): Promise<void>
  forceFlush?(): Promise<void>
}

export interface SpanProcessor {
  onStart(span: ReadableSpan, parentContext: unknown): void
  onEnd(span: ReadableSpan): void
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}
