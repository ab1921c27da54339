import { setImmediate as turn } from 'node:timers/promises'
import type { Api, Before, CallPlan, Framing } from './plan.ts'
import { replyOf, type Sent } from './replies.ts'

/** A request as it was sent. */
export interface OnWire {
  readonly path: string
  readonly headers: readonly string[]
  readonly body: unknown
}

const STATUS: Record<number, object> = {
  400: { message: 'no such model', type: 'invalid_request_error', code: 'bad' },
  401: { message: 'no such key', type: 'authentication_error', code: 'key' },
  429: { message: 'slow down', type: 'rate_limit', code: 'busy' },
  500: { message: 'broken', type: 'server_error', code: 'broken' },
  503: { message: 'overloaded', type: 'server_error', code: 'overloaded' },
}

/**
 * The endpoint of one call, as the client's own `fetch`: it gives the bytes that were asked for piece by piece, each when it
 * is asked for, so that bare and observed clients meet the same thing at the same moment.
 */
export class Provider {
  readonly wire: OnWire[] = []
  /** Told of what the caller may want to abort at. */
  onRequest = () => {}
  onPull = (_count: number) => {}
  readonly #plan: CallPlan
  readonly #before: Before[]
  /** Kept, as `fetch` does: what aborts a request does not reach the signal of one that is garbage. */
  readonly #asked: unknown[] = []
  #answered = 0
  #pulls = 0

  constructor(plan: CallPlan) {
    this.#plan = plan
    this.#before = [...plan.before]
  }

  readonly fetch = async (asked: string | URL | Request, given: RequestInit = {}): Promise<Response> => {
    this.#asked.push(asked)
    const { url, init } = await sentIn(asked, given)
    const signal = init.signal ?? undefined
    signal?.throwIfAborted()
    const { pathname, search } = new URL(url)
    const text = String(init.body)
    this.wire.push({ path: pathname + search, headers: headersOf(init), body: JSON.parse(text) })
    this.onRequest()
    for (let left = 2; left > 0; left--) await turn()
    signal?.throwIfAborted()
    const before = this.#before.shift()
    if (before === 'reset')
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
      })
    if (before === 'silent') {
      // And stays so: whether an answer would be in time is no matter of the client.
      this.#before.unshift('silent')
      return aborted(signal)
    }
    if (before !== undefined) return failure(before)
    const isLast = this.#answered++ > 0
    return this.#answer(isStreamed(pathname, text), isLast, signal)
  }

  #answer(streams: boolean, isLast: boolean, signal: AbortSignal | undefined): Response {
    const { fault, faultAt, framing } = this.#plan
    const reply = replyOf(this.#plan, isLast)
    const type = streams ? 'text/event-stream; charset=utf-8' : 'application/json'
    const headers = {
      'content-type': type,
      'x-request-id': `req_${this.#answered}`,
      'request-id': `req_${this.#answered}`,
    }
    if (fault === 'empty') return new Response(this.#body([], 'ends', signal), { headers })
    const bytes = streams ? this.#events(reply.events) : Buffer.from(JSON.stringify(reply.whole))
    const shown =
      streams || fault === 'none' || fault === 'error' || fault === 'unfinished'
        ? bytes
        : bytes.subarray(0, Math.floor((bytes.length * faultAt) / 10))
    const end = fault === 'cut' ? 'cuts' : fault === 'stalls' ? 'stalls' : 'ends'
    const nonsense = !streams && fault === 'nonsense' ? [Buffer.from('{"half')] : undefined
    return new Response(this.#body(nonsense ?? pieces(shown, framing), end, signal), { headers })
  }

  #events(events: readonly Sent[]): Buffer {
    const { api, fault, faultAt, framing } = this.#plan
    const at = fault === 'none' ? events.length : Math.floor((events.length * faultAt) / 10)
    const lines = events.slice(0, at).map((sent) => frame(sent, framing))
    if (framing.unknown) lines.splice(Math.floor(lines.length / 2), 0, frame(unknownOf(api), framing))
    if (fault === 'error') lines.push(frame(errorOf(api), framing))
    if (fault === 'nonsense') lines.push(`data: {"half${framing.crlf ? '\r\n\r\n' : '\n\n'}`)
    if (fault === 'none' && (api === 'chat' || api === 'completions')) lines.push('data: [DONE]\n\n')
    return Buffer.from(lines.join(''))
  }

  #body(
    all: readonly Uint8Array[],
    end: 'ends' | 'cuts' | 'stalls',
    signal: AbortSignal | undefined,
  ): ReadableStream<Uint8Array> {
    const left = [...all]
    const body: ConstructorParameters<typeof ReadableStream<Uint8Array>>[0] = {
      start(controller) {
        const stop = () => controller.error(signal?.reason)
        if (signal?.aborted) stop()
        signal?.addEventListener('abort', stop, { once: true })
      },
      pull: async (controller) => {
        await turn()
        this.onPull(this.#pulls++)
        if (signal?.aborted) return
        const piece = left.shift()
        if (piece !== undefined) return controller.enqueue(piece)
        if (end === 'cuts')
          return controller.error(new TypeError('terminated', { cause: new Error('other side closed') }))
        if (end === 'stalls') {
          this.onPull(Number.POSITIVE_INFINITY)
          return new Promise(() => {})
        }
        controller.close()
      },
    }
    return new ReadableStream(body, { highWaterMark: 0 })
  }
}

/** The one client gives an address and options, the other a whole request. */
async function sentIn(
  asked: string | URL | Request,
  init: RequestInit,
): Promise<{ url: string; init: RequestInit }> {
  if (!(asked instanceof Request)) return { url: String(asked), init }
  const { url, headers, signal } = asked
  return { url, init: { headers, signal, body: await asked.text() } }
}

function isStreamed(path: string, body: string): boolean {
  return path.includes(':streamGenerateContent') || JSON.parse(body).stream === true
}

function headersOf({ headers }: RequestInit): string[] {
  return [...new Headers(headers)]
    .filter(([name, value]) => !value.startsWith('stainless-node-retry') && name !== 'content-length')
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

function failure(status: number): Response {
  return Response.json(
    { error: STATUS[status] },
    { status, headers: { 'retry-after-ms': '1', 'x-request-id': 'req_f' } },
  )
}

function frame({ event, data }: Sent, { crlf, comments }: Framing): string {
  const end = crlf ? '\r\n' : '\n'
  return `${comments ? `: ping${end}${end}` : ''}${event ? `event: ${event}${end}` : ''}data: ${JSON.stringify(data)}${end}${end}`
}

function unknownOf(api: Api): Sent {
  if (api === 'messages' || api === 'beta') return { event: 'ping', data: { type: 'ping' } }
  if (api === 'responses')
    return { event: 'response.novelty', data: { type: 'response.novelty', sequence_number: 99 } }
  if (api === 'google') return { data: { modelVersion: 'm-real' } }
  if (api === 'interactions') return { event: 'step.novelty', data: { event_type: 'step.novelty', index: 0 } }
  return { data: { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm-real', choices: [] } }
}

function errorOf(api: Api): Sent {
  const error = { message: 'overloaded', type: 'overloaded_error', code: 'busy' }
  if (api === 'messages' || api === 'beta') return { event: 'error', data: { type: 'error', error } }
  if (api === 'responses') return { event: 'error', data: { type: 'error', error } }
  if (api === 'google')
    return { data: { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } } }
  if (api === 'interactions') return { event: 'error', data: { event_type: 'error', error } }
  return { data: { error } }
}

function pieces(bytes: Buffer, { cuts }: Framing): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => Math.floor((bytes.length * cut) / 1000)))].sort((a, b) => a - b)
  return [0, ...at]
    .map((start, index) => bytes.subarray(start, [...at, bytes.length][index]))
    .filter(({ length }) => length > 0)
}
