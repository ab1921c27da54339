import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import { jsonRequest } from './otlp-json.ts'
import type { ReadableSpan } from './types.ts'

export type OtlpProtocol = 'http/json' | 'http/protobuf'

/** Turns spans into the body of an OTLP request. */
export interface OtlpEncoder {
  readonly contentType: 'application/json' | 'application/x-protobuf'
  encodeRequest(spans: readonly ReadableSpan[]): Uint8Array
}

const SDK = '@opentelemetry/sdk-node'

/** @throws HookspanError `MISSING_DEPENDENCY`. */
export function otlpEncoder(protocol: OtlpProtocol, neededBy: string): OtlpEncoder {
  return protocol === 'http/json' ? jsonEncoder : protobufEncoder(neededBy)
}

const jsonEncoder: OtlpEncoder = {
  contentType: 'application/json',
  encodeRequest: (spans) => Buffer.from(jsonRequest(spans)),
}

function protobufEncoder(neededBy: string): OtlpEncoder {
  requirePeer(SDK, neededBy)
  const { ProtobufTraceSerializer } = requireVia<{
    ProtobufTraceSerializer: { serializeRequest(spans: unknown): Uint8Array }
  }>(SDK, '@opentelemetry/otlp-exporter-base', '@opentelemetry/otlp-transformer')
  return {
    contentType: 'application/x-protobuf',
    encodeRequest: (spans) => ProtobufTraceSerializer.serializeRequest(spans),
  }
}
