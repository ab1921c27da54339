/** The OTLP/HTTP receiver: `POST /v1/traces`, `/v1/logs`, and `/v1/metrics`, which is taken and not kept. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorMessage } from '../../internal/errors.ts'
import type { InTurns } from '../model/in-turns.ts'
import { exportAnswer, statusAnswer } from '../otlp/answer.ts'
import { type BodyFormat, receivingLogs, receivingTraces } from '../otlp/receive.ts'
import type { Store } from '../store/store.ts'
import { takeTurns } from '../turns.ts'
import { type BodyReader, HttpError } from './body.ts'
import { reading, storing } from './refusals.ts'
import { PAGE_HEADERS } from './security.ts'
import { TakenTogether } from './taken-together.ts'

export interface OtlpContext {
  store: Store
  bodies: BodyReader
  spans: TakenTogether
  /** Trace ids that changed. */
  onChanged(traceIds: Set<string>): void
  /** Storing failed; the sender was told to try again. `undefined` when it works again. */
  onStorageError(error: Error | undefined): void
}

/** `google.rpc.Code` for what we answer. */
const RPC_CODES: Record<number, number> = { 400: 3, 403: 7, 405: 12, 413: 8, 415: 3, 503: 14 }
const DRAIN_MS = 5_000
/** In one list, which is written as it is: each header that is set by itself is looked up, kept and read again. */
const HEADERS = Object.entries(PAGE_HEADERS).flat()
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
    const answer = await context.bodies.use(request, (body) =>
      path === '/v1/traces'
        ? takingTraces(body, format, context)
        : takeTurns(taking(path, body, format, context)),
    )
    send(response, 200, format, answer)
  } catch (error) {
    refuse(request, response, format ?? 'json', error)
  }
}

/** When it is done, nothing reads the body any more: everything was stored or refused. */
function* taking(path: string, body: Buffer, format: BodyFormat, context: OtlpContext): InTurns<Buffer> {
  const { store, onChanged, onStorageError } = context
  if (path === '/v1/metrics') return exportAnswer(format, 'spans', 0, '')
  const { items, rejected, reason } = yield* reading(receivingLogs(body, format))
  onChanged(yield* storing(store.addingLogs(items), onStorageError))
  return exportAnswer(format, 'logs', rejected, reason)
}

/** Likewise. */
async function takingTraces(body: Buffer, format: BodyFormat, { spans }: OtlpContext): Promise<Buffer> {
  const { items, rejected, reason } = await takeTurns(reading(receivingTraces(body, format)))
  await spans.add(items)
  return exportAnswer(format, 'spans', rejected, reason)
}

/** For `OtlpContext`. */
export function takenTogether({
  store,
  onChanged,
  onStorageError,
}: Pick<OtlpContext, 'store' | 'onChanged' | 'onStorageError'>): TakenTogether {
  return new TakenTogether(function* (items) {
    onChanged(yield* storing(store.addingSpans(items), onStorageError))
  })
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
  response.writeHead(status, [
    ...HEADERS,
    'content-type',
    format === 'json' ? 'application/json' : 'application/x-protobuf',
    'content-length',
    String(body.length),
  ])
  // An empty body beside the head would be a second piece to write.
  response.end(body.length > 0 ? body : undefined)
}
