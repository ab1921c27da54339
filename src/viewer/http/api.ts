/** What the page and the command line ask for. Reading is free on loopback; changing needs the token. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { toColumns } from '../model/columns.ts'
import { buildConversation } from '../model/conversation.ts'
import { cutSpan } from '../model/cut.ts'
import { eventLog } from '../model/event-log.ts'
import { lintRun } from '../model/lint.ts'
import { type DiffSide, diffRuns } from '../model/run-diff.ts'
import { receiveTraces } from '../otlp/receive.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalDesk } from './approvals.ts'
import { type BodyReader, HttpError } from './body.ts'
import type { Live } from './live.ts'
import { offlinePage } from './offline-page.ts'
import type { StaticFiles } from './static-files.ts'

export interface ApiContext {
  store: Store
  bodies: BodyReader
  live: Live
  files: StaticFiles
  approvals: ApprovalDesk
  /** What the viewer says of itself. */
  status(): object | Promise<object>
  onChanged(traceIds: Set<string>): void
  onAnswered(): void
}

/** Of one attribute, what a span's panel is sent unless it asks for all. */
const PANEL_CHARS = 64 * 1024

type Reply = { json: unknown } | { file: string; mediaType: string; name: string } | { stream: true }
type Handler = (
  request: IncomingMessage,
  params: string[],
  query: URLSearchParams,
  context: ApiContext,
) => Reply | Promise<Reply>

interface Route {
  method: 'GET' | 'POST' | 'DELETE'
  path: RegExp
  /** What changes something, and what no trace holds. */
  needsToken: boolean
  handle: Handler
}

const ROUTES: Route[] = [
  get(/^\/api\/status$/, async (_request, _params, _query, { status }) => ({ json: await status() })),
  get(/^\/api\/live$/, () => ({ stream: true })),
  get(/^\/api\/runs$/, async (_request, _params, query, { store }) => {
    const page = { limit: whole(query.get('limit'), 200, 10_000), offset: whole(query.get('offset'), 0, 1e9) }
    return { json: await inTurns(store.listing(query.get('q') ?? '', page)) }
  }),
  get(/^\/api\/search$/, async (_request, _params, query, { store }) => {
    const limit = whole(query.get('limit'), 100, 1000)
    return {
      json: await inTurns(store.searching(query.get('q') ?? '', limit, query.get('run') ?? undefined)),
    }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)$/, (_request, [id], query, { store }) => {
    const run = known(store.run(id!, whole(query.get('since'), 0, Number.MAX_SAFE_INTEGER)))
    return { json: { summary: run.summary, seq: run.seq, columns: toColumns(run.rows) } }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/spans\/([0-9a-f]{16})$/, (_request, [id, spanId], query, { store }) => {
    const span = known(store.span(id!, spanId!))
    return { json: query.get('full') === '1' ? { span, cut: {} } : cutSpan(span, PANEL_CHARS) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/conversation$/, (_request, [id], _query, { store }) => {
    const side = sideOf(store, id!)
    return { json: buildConversation(side.rows, side.open) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/lint$/, (_request, [id], _query, { store }) => {
    const side = sideOf(store, id!)
    return { json: lintRun(side.rows, side.open) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/events$/, (_request, [id], _query, { store }) => {
    const run = known(store.run(id!))
    return { json: eventLog(run.rows, store.records(run.summary.traceId)) }
  }),
  get(/^\/api\/diff$/, (_request, _params, query, { store }) => ({
    json: diffRuns(sideOf(store, query.get('a') ?? ''), sideOf(store, query.get('b') ?? '')),
  })),
  get(/^\/api\/runs\/([0-9a-f]+)\/export\.json$/, (_request, [id], _query, { store }) => ({
    file: JSON.stringify(known(store.exportRun(id!))),
    mediaType: 'application/json',
    name: `run-${id!.slice(0, 8)}.otlp.json`,
  })),
  get(/^\/api\/runs\/([0-9a-f]+)\/export\.html$/, (_request, [id], _query, { store, files }) => ({
    file: offlinePage(files, known(store.exportRun(id!))),
    mediaType: 'text/html; charset=utf-8',
    name: `run-${id!.slice(0, 8)}.html`,
  })),
  {
    method: 'DELETE',
    path: /^\/api\/runs\/([0-9a-f]+)$/,
    needsToken: true,
    handle: (_request, [id], _query, { store, onChanged }) => {
      if (!store.removeRun(id!)) throw new HttpError(404, `No run "${id}".`)
      onChanged(new Set([id!]))
      return { json: {} }
    },
  },
  {
    method: 'GET',
    path: /^\/api\/approvals$/,
    needsToken: true,
    handle: async (_request, _params, _query, { approvals }) => ({
      json: { connected: approvals.connected, requests: await approvals.waiting() },
    }),
  },
  {
    method: 'GET',
    path: /^\/api\/approvals\/([^/]+)$/,
    needsToken: true,
    handle: async (_request, [id], _query, { approvals }) => ({
      json: await approvals.outcome(decoded(id!)),
    }),
  },
  {
    method: 'POST',
    path: /^\/api\/approvals\/([^/]+)\/respond$/,
    needsToken: true,
    handle: async (request, [id], _query, { approvals, bodies, onAnswered }) => {
      const record = await approvals.respond(decoded(id!), request, bodies)
      onAnswered()
      return { json: { status: record.status, answer: record.answer } }
    },
  },
  {
    method: 'POST',
    path: /^\/api\/import$/,
    needsToken: true,
    handle: async (request, _params, _query, { store, bodies, onChanged }) => {
      const received = parsed(await bodies.read(request))
      const changed = store.addSpans(received.items)
      onChanged(changed)
      return {
        json: {
          runs: [...changed],
          spans: received.accepted,
          rejected: received.rejected,
          reason: received.reason,
        },
      }
    },
  },
]

function get(path: RegExp, handle: Handler): Route {
  return { method: 'GET', path, needsToken: false, handle }
}

export function findRoute(method: string, path: string): { route: Route; params: string[] } | undefined {
  for (const route of ROUTES) {
    const match = route.method === method ? route.path.exec(path) : null
    if (match) return { route, params: match.slice(1) }
  }
  return undefined
}

export async function handleApi(
  request: IncomingMessage,
  response: ServerResponse,
  found: { route: Route; params: string[] },
  query: URLSearchParams,
  context: ApiContext,
): Promise<void> {
  const reply = await found.route.handle(request, found.params, query, context)
  if ('stream' in reply) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    context.live.join(response)
    return
  }
  const body = Buffer.from('file' in reply ? reply.file : JSON.stringify(reply.json))
  const headers: Record<string, string | number> = {
    'cache-control': 'no-store',
    'content-length': body.length,
  }
  if ('file' in reply) {
    headers['content-type'] = reply.mediaType
    headers['content-disposition'] = `attachment; filename="${reply.name}"`
  } else headers['content-type'] = 'application/json'
  response.writeHead(200, headers)
  response.end(body)
}

/** Spans are taken in, and others answered, while a long answer is worked on. */
async function inTurns<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await setImmediate()
  }
}

/** A run with its whole spans, read once each. */
export function sideOf(store: Store, traceId: string): DiffSide {
  const run = known(store.run(traceId))
  const id = run.summary.traceId
  return { summary: run.summary, rows: run.rows, open: (spanId) => store.span(id, spanId) }
}

function known<T>(value: T | undefined): T {
  if (value === undefined)
    throw new HttpError(404, 'No such run or span here; it may have been removed to make room.')
  return value
}

function parsed(body: Buffer) {
  try {
    return receiveTraces(body, 'json')
  } catch (error) {
    throw new HttpError(400, (error as Error).message)
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new HttpError(400, 'The address is malformed.')
  }
}

function whole(text: string | null, fallback: number, most: number): number {
  const number = Number(text ?? fallback)
  return Number.isInteger(number) && number >= 0 ? Math.min(number, most) : fallback
}
