import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySpan } from '../../../test/support/any-span.ts'
import { protobufRequest } from './otlp-protobuf.ts'

describe('protobufRequest', () => {
  it('writes any spans byte for byte as the SDK does', () => {
    const property = fc.property(fc.array(anySpan, { maxLength: 4 }), (spans) => {
      const theirs = ProtobufTraceSerializer.serializeRequest(spans as never) as Uint8Array
      expect(Buffer.compare(protobufRequest(spans), theirs)).toBe(0)
    })
    fc.assert(property, { numRuns: 150 })
  })

  it('writes a request again after one that was larger than what is kept of the memory', () => {
    const [small, large] = [
      fc.sample(anySpan, { numRuns: 1, seed: 1 }),
      fc.sample(anySpan, { numRuns: 1, seed: 2 }),
    ]
    const huge = large.map((one) => ({ ...one, attributes: { text: 'ä'.repeat(5_000_000) } }))
    const before = Buffer.from(protobufRequest(small))
    const theirs = ProtobufTraceSerializer.serializeRequest(huge as never) as Uint8Array
    expect(Buffer.compare(protobufRequest(huge), theirs)).toBe(0)
    expect(Buffer.compare(protobufRequest(small), before)).toBe(0)
  })
})
