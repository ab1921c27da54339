import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { readAnswer, readError } from './otlp-answer.ts'
import { type OtlpEncoder, otlpEncoder } from './otlp-encoder.ts'
import { otlpClient } from './otlp-post.ts'
import type { OtlpTarget } from './otlp-target.ts'
import { bytesOf, type Parcel, type SpanSender, spanOf, written } from './parcel.ts'
import { joinSpans } from './span-bytes.ts'

const compress = promisify(gzip)

/** The body of a request with these spans: what is written already goes as it is. */
export function requestWriter(target: OtlpTarget): {
  readonly headers: Readonly<Record<string, string>>
  write(parcels: readonly Parcel[]): Uint8Array
} {
  const encoder: OtlpEncoder = otlpEncoder(target.protocol)
  const headers = {
    'content-type': encoder.contentType,
    ...(target.gzip && { 'content-encoding': 'gzip' }),
  }
  const isWritten = (parcels: readonly Parcel[]) =>
    target.protocol === 'http/protobuf' && parcels[0]?.bytes !== undefined
  return {
    headers,
    write: (parcels) =>
      isWritten(parcels) ? joinSpans(parcels.map(bytesOf)) : encoder.encodeRequest(parcels.map(spanOf)),
  }
}

/** Posts spans over OTLP/HTTP. */
export function otlpSender(target: OtlpTarget): SpanSender {
  const { headers, write } = requestWriter(target)
  const client = otlpClient(target)
  return {
    async send(parcels) {
      try {
        await parcels[0]?.span?.resource.waitForAsyncAttributes?.()
        const body = written(() => write(parcels))
        if (!(body instanceof Uint8Array)) return body
        return readAnswer(await client.post(target.gzip ? await compress(body) : body, headers))
      } catch (error) {
        return readError(error)
      }
    },
    shutdown: async () => client.close(),
  }
}
