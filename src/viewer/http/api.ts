/** What the page and the command line ask for. Reading is free on loopback; changing needs the token. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeValue } from '../../internal/errors.ts'
import { puttingIntoColumns } from '../model/columns.ts'
import { conversing } from '../model/conversation.ts'
import { cutSpan } from '../model/cut.ts'
import { logging } from '../model/event-log.ts'
import type { InTurns } from '../model/in-turns.ts'
import { linting } from '../model/lint.ts'
import { NEWEST_FIRST, SORT_KEYS } from '../model/query-keys.ts'
import { diffing } from '../model/run-diff.ts'
import { type RunActs, readingActs } from '../model/run-steps.ts'
import { USE_KINDS, type UseKind } from '../model/run-uses.ts'
import { seenBy } from '../model/seen.ts'
import type { Marking, RunSummary } from '../model/span.ts'
import { receivingTraces } from '../otlp/receive.ts'
import type { Store } from '../store/store.ts'
import { takeTurns } from '../turns.ts'
import type { PageApprovals } from './approvals.ts'
import { type BodyReader, HttpError } from './body.ts'
import { exportingRun, exportingRuns, writingMarkdown } from './export-runs.ts'
import { writingJson } from './json-pieces.ts'
import type { Live } from './live.ts'
import { readMarking } from './marks.ts'
import { offlinePage } from './offline-page.ts'
import { reading, storing } from './refusals.ts'
import type { StaticFiles } from './static-files.ts'

export interface ApiContext {
  store: Store
  bodies: BodyReader
  live: Live
  files: StaticFiles
  approvals: PageApprovals
  /** What the viewer says of itself. */
  status(): object | Promise<object>
  onChanged(traceIds: Set<string>): void
  onAnswered(): void
  /** What the answer to a query is not, where runs are fetched from elsewhere. */
  notes(query: string): string[]
}

/** Runs that are told side by side. */
const MOST_ACTS = 20
/** Runs of which is told at once where words are. */
const MOST_SNIPPETS = 200
/** Of one attribute, what a span's panel is sent unless it asks for all. */
const PANEL_CHARS = 64 * 1024

type Reply =
  | { json: unknown }
  | { file: string | Buffer; mediaType: string; name: string }
  | { stream: true }
  /** What was asked for is not here. */
  | undefined

interface Asked {
  request: IncomingMessage
  params: string[]
  query: URLSearchParams
}

interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: RegExp
  /** What changes something, and what no trace holds. */
  needsToken: boolean
  /** What may take long takes turns. */
  handle: (asked: Asked, context: ApiContext) => InTurns<Reply> | Promise<Reply>
}

const ROUTES: Route[] = [
  get(/^\/api\/status$/, async (_asked, { status }) => ({ json: await status() })),
  get(/^\/api\/live$/, async () => ({ stream: true })),
  get(/^\/api\/runs$/, function* ({ query }, { store, notes }) {
    const page = {
      limit: whole(query, 'limit', 200, 10_000),
      offset: whole(query, 'offset', 0, 1e9),
      sort: sortOf(query.get('sort')),
    }
    const asked = query.get('q') ?? ''
    const list = yield* store.listing(asked, page)
    return { json: { ...list, problems: [...list.problems, ...notes(asked)] } }
  }),
  get(/^\/api\/numbers$/, function* ({ query }, { store }) {
    return { json: yield* store.counting(query.get('q') ?? '') }
  }),
  get(/^\/api\/uses\/([a-z]+)$/, function* ({ params: [kind], query }, { store }) {
    return { json: yield* store.summingUses(query.get('q') ?? '', kindOf(kind!)) }
  }),
  get(/^\/api\/sets$/, function* ({ query }, { store, notes }) {
    const [a, b] = [query.get('a') ?? '', query.get('b') ?? '']
    const diff = yield* store.diffingSets(a, b)
    return { json: { ...diff, problems: [...diff.problems, ...new Set([...notes(a), ...notes(b)])] } }
  }),
  get(/^\/api\/snippets$/, function* ({ query }, { store }) {
    const ids = (query.get('runs') ?? '').split(',').slice(0, MOST_SNIPPETS)
    return { json: { snippets: yield* store.findingSnippets(query.get('q') ?? '', ids) } }
  }),
  get(/^\/api\/search$/, function* ({ query }, { store }) {
    const limit = whole(query, 'limit', 100, 1000)
    return { json: yield* store.searching(query.get('q') ?? '', limit, query.get('run') ?? undefined) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)$/, function* ({ params: [id], query }, { store }) {
    const run = yield* store.reading(id!, whole(query, 'since', 0, Number.MAX_SAFE_INTEGER))
    return (
      run && { json: { summary: run.summary, seq: run.seq, columns: yield* puttingIntoColumns(run.rows) } }
    )
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/spans\/([0-9a-f]{16})$/, function* (asked, { store }) {
    const [id, spanId] = asked.params
    const span = yield* store.openingSpan(id!, spanId!)
    if (!span) return undefined
    return { json: asked.query.get('full') === '1' ? { span, cut: {} } : cutSpan(span, PANEL_CHARS) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/spans\/([0-9a-f]{16})\/seen$/, function* (asked, { store }) {
    const [id, spanId] = asked.params
    const run = yield* store.reading(id!)
    const all = asked.query.get('all') === '1'
    const seen = run && seenBy({ rows: run.rows, open: run.open, spanId: spanId!, all })
    return seen && { json: seen }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/conversation$/, function* ({ params: [id], query }, { store }) {
    const run = yield* store.reading(id!)
    // Where it says none, all of it.
    const first = whole(query, 'first', 0, 10_000) || undefined
    return run && { json: yield* conversing(run.rows, run.open, first) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/lint$/, function* ({ params: [id] }, { store }) {
    const run = yield* store.reading(id!)
    return run && { json: yield* linting(run.rows, run.open) }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/events$/, function* ({ params: [id] }, { store }) {
    const run = yield* store.reading(id!)
    return run && { json: yield* logging(run.rows, run.records()) }
  }),
  get(/^\/api\/diff$/, function* ({ query }, { store }) {
    const a = yield* store.reading(query.get('a') ?? '')
    const b = yield* store.reading(query.get('b') ?? '')
    return a && b && { json: yield* diffing(a, b) }
  }),
  get(/^\/api\/acts$/, function* ({ query }, { store }) {
    const acts: RunActs[] = []
    for (const id of (query.get('runs') ?? '').split(',').slice(0, MOST_ACTS)) {
      const run = yield* store.reading(id)
      if (!run)
        throw new HttpError(404, `No run "${id.slice(0, 40)}" here; it may have been removed to make room.`)
      acts.push(yield* readingActs(run))
    }
    return { json: { runs: acts } }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/export\.json$/, function* ({ params: [id] }, { store }) {
    const traces = yield* exportingRun(store, id!)
    const name = `run-${id!.slice(0, 8)}.otlp.json`
    return traces && { file: yield* writingJson(traces), mediaType: 'application/json', name }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/export\.html$/, function* ({ params: [id] }, { store, files }) {
    const traces = yield* exportingRun(store, id!)
    const name = `run-${id!.slice(0, 8)}.html`
    return traces && { file: yield* offlinePage(files, traces), mediaType: 'text/html; charset=utf-8', name }
  }),
  get(/^\/api\/runs\/([0-9a-f]+)\/markdown$/, function* ({ params: [id], query }, { store }) {
    const markdown = yield* writingMarkdown(store, id!, whole(query, 'chars', 40_000, 1_000_000))
    return markdown === undefined ? undefined : { json: { markdown } }
  }),
  get(/^\/api\/export$/, function* ({ query }, { store }) {
    const ids = (query.get('runs') ?? '').split(',').filter(Boolean)
    return yield* exportingRuns(store, {
      format: query.get('format') ?? '',
      query: query.get('q') ?? '',
      ids,
    })
  }),
  {
    method: 'PUT',
    path: /^\/api\/runs\/([0-9a-f]+)\/marks$/,
    needsToken: true,
    handle: ({ params: [id], request }, { bodies, store, onChanged }) =>
      bodies.use(request, async (body) => {
        const marks = readMarking(body)
        const summary = await takeTurns(storing(marking(store, id!, marks)))
        if (!summary) throw new HttpError(404, `No run "${id}".`)
        onChanged(new Set([summary.traceId]))
        return { json: summary }
      }),
  },
  {
    method: 'DELETE',
    path: /^\/api\/runs\/([0-9a-f]+)$/,
    needsToken: true,
    *handle({ params: [id] }, { store, onChanged }) {
      if (!(yield* storing(store.removingRun(id!)))) throw new HttpError(404, `No run "${id}".`)
      onChanged(new Set([id!]))
      return { json: {} }
    },
  },
  {
    method: 'GET',
    path: /^\/api\/approvals$/,
    needsToken: true,
    handle: async (_asked, { approvals }) => ({
      json: {
        connected: approvals.connected,
        approver: approvals.approver,
        requests: await approvals.waiting(),
      },
    }),
  },
  {
    method: 'GET',
    path: /^\/api\/approvals\/([^/]+)$/,
    needsToken: true,
    handle: async ({ params: [id] }, { approvals }) => ({ json: await approvals.outcome(decoded(id!)) }),
  },
  {
    method: 'GET',
    path: /^\/api\/approvals\/([^/]+)\/context$/,
    needsToken: true,
    handle: async ({ params: [id] }, { approvals }) => ({ json: await approvals.context(decoded(id!)) }),
  },
  {
    method: 'POST',
    path: /^\/api\/approvals\/([^/]+)\/respond$/,
    needsToken: true,
    handle: async ({ params: [id], request }, { approvals, bodies, onAnswered }) => {
      const record = await approvals.respond(decoded(id!), request, bodies)
      onAnswered()
      return { json: { status: record.status, answer: record.answer } }
    },
  },
  {
    method: 'POST',
    path: /^\/api\/import$/,
    needsToken: true,
    handle: ({ request }, { bodies, ...context }) =>
      bodies.use(request, async (body) => ({ json: await takeTurns(importing(body, context)) })),
  },
]

function* marking(store: Store, id: string, marks: Marking): InTurns<RunSummary | undefined> {
  yield
  return store.mark(id, marks)
}

function* importing(body: Buffer, { store, onChanged }: Pick<ApiContext, 'store' | 'onChanged'>) {
  const { items, accepted, rejected, reason } = yield* reading(receivingTraces(body, 'json'))
  const changed = yield* storing(store.addingSpans(items))
  onChanged(changed)
  return { runs: [...changed], spans: accepted, rejected, reason }
}

function get(path: RegExp, handle: Route['handle']): Route {
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
  const isWanted = () => !response.destroyed
  const work = found.route.handle({ request, params: found.params, query }, context)
  const { reply, body } = await (work instanceof Promise
    ? work.then((told) => takeTurns(writing(told), isWanted))
    : takeTurns(answering(work), isWanted))
  if ('stream' in reply) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    context.live.join(response, query.has('hidden'))
    return
  }
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

/** Found and written as one work: it keeps its place among the others. */
function* answering(work: InTurns<Reply>): InTurns<Written> {
  return yield* writing(yield* work)
}

function* writing(reply: Reply): InTurns<Written> {
  if (reply === undefined)
    throw new HttpError(404, 'No such run or span here; it may have been removed to make room.')
  if ('stream' in reply) return { reply, body: Buffer.alloc(0) }
  return { reply, body: 'file' in reply ? Buffer.from(reply.file) : yield* writingJson(reply.json) }
}

interface Written {
  reply: NonNullable<Reply>
  body: Buffer
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new HttpError(400, 'The address is malformed.')
  }
}

function sortOf(text: string | null): string {
  const sort = text ?? NEWEST_FIRST
  if (Object.hasOwn(SORT_KEYS, sort.replace(/^-/, ''))) return sort
  throw new HttpError(
    400,
    `Runs cannot be sorted by "${sort}". Sort by ${Object.keys(SORT_KEYS).join(', ')}; "-" before it for the greatest first.`,
  )
}

function kindOf(text: string): UseKind {
  const kind = USE_KINDS.find((one) => one === text)
  if (kind) return kind
  throw new HttpError(400, `Runs cannot be summed by "${text}". Sum by ${USE_KINDS.join(', ')}.`)
}

/** As many as that at most, as the answer has them. */
function whole(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const text = query.get(name) || String(fallback)
  if (/^\d+$/.test(text)) return Math.min(Number(text), most)
  throw new HttpError(400, `\`${name}\` is a whole number, got ${describeValue(text)}.`)
}
