import type { Attributes, AttributeValue, SpanRecord } from './span.ts'

/** A span whose long texts were cut, and how long they were: a page that draws ten megabytes stands still. */
export interface CutSpan {
  span: SpanRecord
  /** Length in characters of each attribute that was cut. */
  cut: Record<string, number>
}

export function cutSpan(span: SpanRecord, maxChars: number): CutSpan {
  const cut: Record<string, number> = Object.create(null)
  const cutAttributes = (attributes: Attributes, prefix: string): Attributes => {
    const out: Attributes = Object.create(null)
    for (const [key, value] of Object.entries(attributes)) {
      const length =
        typeof value === 'string'
          ? value.length
          : typeof value === 'object'
            ? JSON.stringify(value).length
            : 0
      if (length > maxChars) cut[prefix + key] = length
      out[key] = length > maxChars ? shorten(value, maxChars) : value
    }
    return out
  }
  return {
    span: {
      ...span,
      name: span.name.slice(0, 4096),
      status: { ...span.status, message: span.status.message.slice(0, maxChars) },
      attributes: cutAttributes(span.attributes, ''),
      events: span.events.slice(0, 1000).map((event, index) => ({
        ...event,
        attributes: cutAttributes(event.attributes, `events.${index}.`),
      })),
      links: span.links.slice(0, 1000),
      resource: cutAttributes(span.resource, 'resource.'),
    },
    cut,
  }
}

function shorten(value: AttributeValue, maxChars: number): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, maxChars)
}
