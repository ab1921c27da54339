import { STATUS_CODES } from 'node:http'
import { errorMessage } from '../../internal/errors.ts'
import { retryAfter } from '../../internal/http/retry-after.ts'
import { shownAsUrl } from '../../internal/shown-url.ts'
import type { HttpAnswer } from './otlp-post.ts'
import type { Answer, Failure } from './parcel.ts'

/** One of the spans is the reason, or how many there are. */
const REFUSED = [400, 413, 422]
/** Nothing in the spans would change it, and neither would a little time. */
const FAILED = [401, 403, 408, 425, 429]
const LONGEST_RETRY_AFTER_MS = 5 * 60_000

/** What the collector's answer means. */
export function readAnswer(answer: HttpAnswer): Answer {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return { state: 'accepted', ...partialSuccess(answer) }
  if (REFUSED.includes(status)) return { state: 'refused', status, message: statusText(answer) }
  if (FAILED.includes(status) || (status >= 500 && status !== 501)) {
    const retryAfterMs = retryAfter(headers['retry-after'])
    return {
      state: 'failed',
      status,
      message: statusText(answer),
      ...(retryAfterMs !== undefined && { retryAfterMs: Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS) }),
    }
  }
  return { state: 'unwanted', status, message: statusText(answer) }
}

/** What a request that got no answer means. */
export function readError(error: unknown): Failure {
  const { code } = error as { code?: unknown }
  return { state: 'failed', message: errorMessage(error), ...(typeof code === 'string' && { code }) }
}

function statusText({ status, headers, body }: HttpAnswer): string {
  const name = STATUS_CODES[status] ?? ''
  const to = headers.location === undefined ? '' : ` to ${shownAsUrl(headers.location)}`
  const text = said(body)
  return `${status} ${name}${to}${text && `: ${text}`}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what text does not have, or would act on a terminal.
const UNPRINTABLE = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\ufffd]/

/** The title of a web page, as of a proxy that asks for TLS; nothing of protobuf. */
function said(body: Buffer): string {
  const text = messageIn(body.toString('utf8').trim())
  return short(text.startsWith('<') ? (/<title>([^<]*)/i.exec(text)?.[1] ?? '') : text)
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return UNPRINTABLE.test(line) ? '' : line.slice(0, 200)
}

/** Collectors answer with a `google.rpc.Status`. */
function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message : ''
  } catch {
    return text
  }
}

interface Partial {
  readonly rejected: number
  readonly message?: string
}

const LESS_THAN = 60

function partialSuccess({ headers, body }: HttpAnswer): Partial {
  if (body.byteLength === 0) return { rejected: 0 }
  if (body[0] === LESS_THAN)
    return { rejected: 0, message: `it is a web page: ${String(body.subarray(0, 80))}` }
  try {
    return /protobuf/.test(headers['content-type'] ?? '') ? partialOfProtobuf(body) : partialOfJson(body)
  } catch {
    // It was taken, and what more it says is not OTLP.
    return { rejected: 0 }
  }
}

function partialOfJson(body: Buffer): Partial {
  const { partialSuccess } = JSON.parse(body.toString('utf8')) as {
    partialSuccess?: { rejectedSpans?: number | string; errorMessage?: unknown }
  }
  return partial(Number(partialSuccess?.rejectedSpans ?? 0), partialSuccess?.errorMessage)
}

/** ExportTraceServiceResponse { 1: partial_success { 1: rejected_spans, 2: error_message } } */
function partialOfProtobuf(body: Buffer): Partial {
  const inner = fieldsOf(body).get(1)
  if (!(inner instanceof Uint8Array)) return { rejected: 0 }
  const fields = fieldsOf(inner)
  const message = fields.get(2)
  return partial(Number(fields.get(1) ?? 0), message instanceof Uint8Array ? String(message) : undefined)
}

/** What is no number of spans, or no text, says nothing: the request was taken. */
function partial(rejected: number, message: unknown): Partial {
  return {
    rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
    ...(typeof message === 'string' && message !== '' && { message: short(message) || 'unreadable' }),
  }
}

/** A protobuf message's numbers and byte strings by field; the last one counts. Fields of other kinds end the reading. */
function fieldsOf(bytes: Buffer): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++] as number
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) break
    }
    return value
  }
  while (at < bytes.length) {
    const tag = varint()
    if ((tag & 7) === 0) fields.set(tag >>> 3, varint())
    else if ((tag & 7) === 2) {
      const length = varint()
      fields.set(tag >>> 3, bytes.subarray(at, at + length))
      at += length
    } else break
  }
  return fields
}
