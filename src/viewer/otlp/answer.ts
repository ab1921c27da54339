/** The protocol's answers, in the encoding of the request. */
import type { BodyFormat } from './receive.ts'

const field = (number: number, wireType: number) => (number << 3) | wireType

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return bytes
}

function message(number: number, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([field(number, 2), ...varint(body.length)]), body])
}

/** `ExportTraceServiceResponse` or `ExportLogsServiceResponse`: empty when everything was taken. */
export function exportAnswer(
  format: BodyFormat,
  kind: 'spans' | 'logs',
  rejected: number,
  reason: string,
): Buffer {
  if (format === 'json') {
    const count = kind === 'spans' ? 'rejectedSpans' : 'rejectedLogRecords'
    const partial =
      rejected > 0 ? { partialSuccess: { [count]: String(rejected), errorMessage: reason } } : {}
    return Buffer.from(JSON.stringify(partial))
  }
  if (rejected === 0) return Buffer.alloc(0)
  return message(
    1,
    Buffer.concat([Buffer.from([field(1, 0), ...varint(rejected)]), message(2, Buffer.from(reason))]),
  )
}

/** `google.rpc.Status`, the body of every refusal. */
export function statusAnswer(format: BodyFormat, code: number, text: string): Buffer {
  if (format === 'json') return Buffer.from(JSON.stringify({ code, message: text }))
  return Buffer.concat([Buffer.from([field(1, 0), ...varint(code)]), message(2, Buffer.from(text))])
}
