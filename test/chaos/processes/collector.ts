/**
 * A collector in a process of its own, told by messages what to do. It counts spans by their ids, so that a test sees
 * what came, and what came twice.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { otlpBody } from '../../support/otlp-body.ts'

/** How the collector answers. `refuseName`: a request with such a span gets `status`, others 200. */
export interface Answer {
  readonly status: number
  readonly delayMs?: number
  readonly body?: string
  readonly refuseName?: string
}

export type Order =
  | { readonly order: 'listen' }
  | { readonly order: 'leave' }
  | { readonly order: 'answer'; readonly answer: Answer }
  | { readonly order: 'size' }
  | { readonly order: 'count' }
  | { readonly order: 'forget' }

/** What came with status 200, by span id. */
export interface Count {
  readonly spans: readonly (readonly [spanId: string, times: number, state: string, name: string])[]
  readonly requests: number
}

interface OtlpSpan {
  readonly spanId: string
  readonly name: string
  readonly attributes?: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[]
}

interface OtlpJson {
  readonly resourceSpans?: readonly {
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[]
  }[]
}

let answer: Answer = { status: 200 }
let server: Server | undefined
let port = 0
/** Of its own where a machine has many of them: while it is away, nobody else gets its port and takes what is not theirs. */
const host =
  process.platform === 'linux'
    ? `127.${1 + (process.pid & 127)}.${(process.pid >> 7) & 255}.${1 + Math.floor(Math.random() * 250)}`
    : '127.0.0.1'
let requests = 0
const seen = new Map<string, { times: number; state: string; name: string }>()

function take(body: Buffer): OtlpSpan[] {
  const { resourceSpans = [] } = otlpBody(body) as OtlpJson
  return resourceSpans.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans = [] }) => spans))
}

function count(spans: readonly OtlpSpan[]): void {
  for (const { spanId, name, attributes } of spans) {
    const state = attributes?.find(({ key }) => key === 'hookspan.span.state')?.value.stringValue ?? 'ended'
    const before = seen.get(spanId)
    seen.set(spanId, { times: (before?.times ?? 0) + 1, state, name })
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  if (request.method !== 'POST') return void response.writeHead(404).end()
  requests++
  const { status, delayMs = 0, body = '{}', refuseName } = answer
  const raw = Buffer.concat(chunks)
  const spans = take(request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw)
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
  const refused = refuseName === undefined || spans.some(({ name }) => name.includes(refuseName))
  const said = refused ? status : 200
  // Cut off before it was counted: who is told nothing must send it again.
  if (server === undefined) return void request.destroy()
  if (said === 200) count(spans)
  response.writeHead(said, { 'content-type': 'application/json' }).end(said === status ? body : '{}')
}

async function listen(): Promise<string> {
  const opened = createServer((request, response) => void serve(request, response).catch(() => {}))
  server = opened
  opened.keepAliveTimeout = 0
  await new Promise<void>((resolve) => opened.listen(port, host, resolve))
  port = (opened.address() as AddressInfo).port
  return `http://${host}:${port}`
}

async function leave(): Promise<void> {
  const closing = server
  server = undefined
  if (closing === undefined) return
  const closed = once(closing, 'close')
  closing.close()
  // What was counted was answered, too, before the connection goes.
  await new Promise((resolve) => setImmediate(resolve))
  closing.closeAllConnections()
  await closed
}

async function obey(order: Order): Promise<unknown> {
  if (order.order === 'listen') return listen()
  if (order.order === 'leave') return leave()
  if (order.order === 'answer') answer = order.answer
  if (order.order === 'forget') seen.clear()
  if (order.order === 'size') return seen.size
  if (order.order !== 'count') return undefined
  const spans = [...seen].map(([id, { times, state, name }]) => [id, times, state, name] as const)
  return { spans, requests } satisfies Count
}

process.on('message', (order: Order) => void obey(order).then((result) => process.send?.({ result })))
process.on('disconnect', () => process.exit())
// For the next one: it is killed, and does not come to write it.
flushCompileCache()
