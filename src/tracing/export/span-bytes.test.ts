import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySpan } from '../../../test/support/any-span.ts'
import { otlpBody } from '../../../test/support/otlp-body.ts'
import { joinSpans, spanBytes } from './span-bytes.ts'
import { spanOfBytes } from './span-of-bytes.ts'
import type { ReadableSpan } from './types.ts'

/** Every span of a request, with its resource and scope. */
function flat(request: Uint8Array): string[] {
  const { resourceSpans } = otlpBody(Buffer.from(request)) as {
    resourceSpans: { resource: object; scopeSpans: { scope: object; spans: object[] }[] }[]
  }
  return resourceSpans
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ scope, spans }) => spans.map((span) => JSON.stringify([resource, scope, span]))),
    )
    .sort()
}

const byTheSdk = (spans: readonly ReadableSpan[]) =>
  ProtobufTraceSerializer.serializeRequest(spans as never) as Uint8Array

/** The API's own reader keeps only what W3C allows in one. */
const withoutStates = (request: Uint8Array) =>
  flat(request).map((text) => text.replaceAll(/"traceState":"(?:[^"\\]|\\.)*",/g, ''))

describe('spans as bytes', () => {
  it('are joined to what the SDK would send of the spans', () => {
    const property = fc.property(fc.array(anySpan, { maxLength: 5 }), (spans) => {
      expect(flat(joinSpans(spans.map(spanBytes)))).toEqual(flat(byTheSdk(spans)))
    })
    fc.assert(property, { numRuns: 40 })
  })

  it('are read back as spans that the SDK sends as it would have sent the first', () => {
    const property = fc.property(anySpan, (span) => {
      const again = spanOfBytes(spanBytes(span))
      expect(withoutStates(byTheSdk([again]))).toEqual(withoutStates(byTheSdk([span])))
    })
    fc.assert(property, { numRuns: 40 })
  })
})
