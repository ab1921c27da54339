import { ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import {
  REQUEST,
  RESOURCE_SPANS,
  resourceField,
  SCOPE_SPANS,
  schemaField,
  scopeField,
  sizeOfField,
  writeSpan,
} from './otlp-protobuf.ts'
import { ProtobufWriter } from './protobuf-writer.ts'
import { headsBy, type Resource, type Scope } from './span-parts.ts'
import type { ReadableSpan } from './types.ts'

/** A span as it stands in an OTLP/protobuf request, with its tag and length, and the head of its request. */
export interface SpanBytes {
  /** See {@link headOf}. */
  readonly head: string
  readonly bytes: Uint8Array
}

/** A buffer that one span made larger than this is not kept for the next. */
const KEPT_BYTES = 256 * 1024
const scratch = new ProtobufWriter(16 * 1024)

export function spanBytes(span: ReadableSpan): SpanBytes {
  scratch.reset(KEPT_BYTES)
  writeSpan(scratch, span)
  return { head: headOf(span), bytes: scratch.copy(0, scratch.at) }
}

/**
 * What a request has beside the span: its resource and scope, as a `ResourceSpans` that has no span yet, each byte a
 * character. The same for all spans that share them.
 */
export const headOf = headsBy(writeHead)

function writeHead(resource: Resource, scope: Scope): string {
  const writer = new ProtobufWriter()
  writer.raw(resourceField(resource))
  writer.raw(schemaField(RESOURCE_SPANS.schemaUrl, resource))
  writer.byte(RESOURCE_SPANS.scopeSpans)
  const start = writer.open()
  writer.raw(scopeField(scope))
  writer.raw(schemaField(SCOPE_SPANS.schemaUrl, scope))
  writer.close(start)
  return Buffer.from(writer.written(0, writer.at)).toString('latin1')
}

/** One OTLP/protobuf request with all of the spans. */
export function joinSpans(spans: readonly SpanBytes[]): Uint8Array {
  const groups = Map.groupBy(spans, ({ head }) => head)
  const resources = [...groups].map(([head, group]) => {
    const frame = frameOf(head)
    const spanSize = group.reduce((sum, { bytes }) => sum + bytes.length, 0)
    const scopeSize = frame.scope.length + spanSize
    return { ...frame, group, scopeSize, size: frame.resource.length + sizeOfField({ size: scopeSize }) }
  })
  const request = new ProtobufWriter(resources.reduce((sum, resource) => sum + sizeOfField(resource), 0) + 16)
  for (const { resource, scope, group, scopeSize, size } of resources) {
    request.byte(REQUEST.resourceSpans)
    request.varint(size)
    request.raw(resource)
    request.byte(RESOURCE_SPANS.scopeSpans)
    request.varint(scopeSize)
    request.raw(scope)
    for (const { bytes } of group) request.raw(bytes)
  }
  return request.written(0, request.at)
}

/** What goes before the spans: the fields of their `ResourceSpans`, and of their `ScopeSpans` in it. */
interface HeadFrame {
  readonly resource: Uint8Array
  readonly scope: Uint8Array
}

const HEADS_KEPT = 100
const frames = new Map<string, HeadFrame>()

function frameOf(head: string): HeadFrame {
  let frame = frames.get(head)
  if (frame === undefined) {
    frame = readFrame(Buffer.from(head, 'latin1'))
    if (frames.size >= HEADS_KEPT) frames.clear()
    frames.set(head, frame)
  }
  return frame
}

/** Its last field is the `ScopeSpans`. */
function readFrame(head: Buffer): HeadFrame {
  const reader = new ProtobufReader(head)
  while (!reader.done) {
    const start = reader.pos
    const tag = reader.tag()
    if (tag !== RESOURCE_SPANS.scopeSpans) reader.skip(tag)
    else {
      const scope = reader.message()
      return { resource: head.subarray(0, start), scope: head.subarray(scope.pos, scope.end) }
    }
  }
  return { resource: head, scope: head.subarray(head.length) }
}
