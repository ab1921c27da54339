/** The OTLP/HTTP receiver: `POST /v1/traces`, `/v1/logs`, and `/v1/metrics`, which is taken and not kept. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorMessage } from '../../internal/errors.ts'
import { exportAnswer, statusAnswer } from '../otlp/answer.ts'
import { type BodyFormat, receiveLogs, receiveTraces } from '../otlp/receive.ts'
import type { Store } from '../store/store.ts'
import { type BodyReader, HttpError } from './body.ts'

export interface OtlpContext {
  store: Store
  bodies: BodyReader
  /** Trace ids that changed. */
  onChanged(traceIds: Set<string>): void
  /** Storing failed; the sender was told to try again. `undefined` when it works again. */
  onStorageError(error: Error | undefined): void
}

/** `google.rpc.Code` for what we answer. */
const RPC_CODES: Record<number, number> = { 400: 3, 403: 7, 405: 12, 413: 8, 415: 3, 503: 14 }
const DRAIN_MS = 5_000
const MEDIA_TYPES: Record<string, BodyFormat> = {
  'application/x-protobuf': 'protobuf',
  'application/json': 'json',
}

export async function handleOtlp(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  context: OtlpContext,
): Promise<void> {
  const mediaType = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  const format = Object.hasOwn(MEDIA_TYPES, mediaType) ? MEDIA_TYPES[mediaType]! : undefined
  try {
    if (request.method !== 'POST') throw new HttpError(405, `${path} takes POST.`)
    // No other media type: a foreign page can send those without asking first.
    if (!format)
      throw new HttpError(
        415,
        `Content-Type "${mediaType.slice(0, 60)}" is not OTLP; send application/x-protobuf or application/json.`,
      )
    const body = await context.bodies.read(request)
    const answer = take(path, body, format, context)
    // Everything was stored or refused by now; nothing reads the body any more.
    context.bodies.release(body)
    send(response, 200, format, answer)
  } catch (error) {
    refuse(request, response, format ?? 'json', error)
  }
}

function take(path: string, body: Buffer, format: BodyFormat, context: OtlpContext): Buffer {
  if (path === '/v1/metrics') return exportAnswer(format, 'spans', 0, '')
  const kind = path === '/v1/logs' ? 'logs' : 'spans'
  const received = read(kind, body, format)
  try {
    const changed =
      kind === 'logs'
        ? context.store.addLogs(received.items as never)
        : context.store.addSpans(received.items as never)
    context.onStorageError(undefined)
    if (changed.size > 0) context.onChanged(changed)
  } catch (error) {
    context.onStorageError(error as Error)
    throw new HttpError(503, `Cannot store: ${(error as Error).message}.`)
  }
  return exportAnswer(format, kind, received.rejected, received.reason)
}

function read(kind: 'logs' | 'spans', body: Buffer, format: BodyFormat) {
  try {
    return kind === 'logs' ? receiveLogs(body, format) : receiveTraces(body, format)
  } catch (error) {
    throw new HttpError(400, (error as Error).message)
  }
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  format: BodyFormat,
  error: unknown,
): void {
  const status = error instanceof HttpError ? error.status : 500
  const message = errorMessage(error)
  if (status === 503) response.setHeader('retry-after', '5')
  send(response, status, format, statusAnswer(format, RPC_CODES[status] ?? 13, message))
  if (request.complete) return
  // What is left of a refused body is read and thrown away for a moment, so that the sender gets to read the answer.
  request.resume()
  setTimeout(() => request.destroy(), DRAIN_MS).unref()
}

function send(response: ServerResponse, status: number, format: BodyFormat, body: Buffer): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, {
    'content-type': format === 'json' ? 'application/json' : 'application/x-protobuf',
    'content-length': body.length,
  })
  response.end(body)
}
