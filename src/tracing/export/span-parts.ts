import type { Attributes, HrTime, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from './types.ts'

/** What the SDK's spans are made of, as far as it is sent. */
export interface Scope {
  readonly name: string
  readonly version?: string
  readonly schemaUrl?: string
  readonly attributes?: Attributes
  readonly droppedAttributesCount?: number
}

export interface Resource {
  readonly attributes?: Attributes
  readonly schemaUrl?: string
}

export interface SpanEvent {
  readonly name: string
  readonly time: HrTime
  readonly attributes?: Attributes
  readonly droppedAttributesCount?: number
}

export interface Link {
  readonly context: SpanContext
  readonly attributes?: Attributes
  readonly droppedAttributesCount?: number
}

/** Heads of requests: what `write` makes of a resource and scope, once for all spans that share them. */
export function headsBy(write: (resource: Resource, scope: Scope) => string): (span: ReadableSpan) => string {
  const heads = new WeakMap<object, WeakMap<object, string>>()
  return ({ resource, instrumentationScope }) => {
    const scope = instrumentationScope as Scope
    let byScope = heads.get(resource)
    if (byScope === undefined) {
      byScope = new WeakMap()
      heads.set(resource, byScope)
    }
    let head = byScope.get(scope)
    if (head === undefined) {
      head = write(resource as Resource, scope)
      // Detectors may still be at work: what they find belongs to spans that come later.
      if (!resource.asyncAttributesPending) byScope.set(scope, head)
    }
    return head
  }
}
