import { jsonRequest } from './otlp-json.ts'
import { protobufRequest } from './otlp-protobuf.ts'
import type { ReadableSpan } from './types.ts'

export type OtlpProtocol = 'http/json' | 'http/protobuf'

/** Turns spans into the body of an OTLP request. */
export interface OtlpEncoder {
  readonly contentType: 'application/json' | 'application/x-protobuf'
  encodeRequest(spans: readonly ReadableSpan[]): Uint8Array
}

export function otlpEncoder(protocol: OtlpProtocol): OtlpEncoder {
  return protocol === 'http/json' ? jsonEncoder : protobufEncoder
}

const jsonEncoder: OtlpEncoder = {
  contentType: 'application/json',
  encodeRequest: jsonRequest,
}

const protobufEncoder: OtlpEncoder = {
  contentType: 'application/x-protobuf',
  encodeRequest: protobufRequest,
}
