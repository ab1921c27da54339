/** One request: checked, routed, answered; whatever goes wrong is answered too. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorMessage } from '../../internal/errors.ts'
import { takeTurns } from '../turns.ts'
import { type ApiContext, findRoute, handleApi } from './api.ts'
import { HttpError } from './body.ts'
import type { FetchedRuns } from './fetched-runs.ts'
import { handleOtlp, type OtlpContext } from './otlp-handler.ts'
import { readOnlyPage, runPage } from './run-page.ts'
import { type AccessPolicy, hasToken, PAGE_HEADERS, refusal } from './security.ts'

const OTLP_PATHS = new Set(['/v1/traces', '/v1/logs', '/v1/metrics'])

export interface AppContext extends ApiContext, OtlpContext {
  policy: AccessPolicy
  /** The answer to `GET /v1/hookspan`, by which our tracing knows that it talks to a viewer. */
  announcement(): object
  /** Somebody asks for what is stored. */
  onLooked(): void
  /** Where the runs of this page are, when they are not here. */
  fetched: FetchedRuns | undefined
  /** Before runs are shown: which of them wait for a person. */
  lookAtApprovals(): Promise<void>
}

export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: AppContext,
): Promise<void> {
  try {
    await route(request, response, context)
  } catch (error) {
    const status = error instanceof HttpError ? error.status : 500
    if (response.headersSent || response.destroyed) return void response.destroy()
    setHeaders(response)
    sendJson(response, status, { error: errorMessage(error) })
  }
}

function setHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value)
}

async function route(request: IncomingMessage, response: ServerResponse, context: AppContext): Promise<void> {
  const refused = refusal(request.headers, context.policy)
  if (refused) throw new HttpError(403, refused)
  // What most requests ask for needs no reading, and writes these headers with its own.
  const isPlain = OTLP_PATHS.has(request.url ?? '') && !context.fetched
  if (isPlain) return handleOtlp(request, response, request.url!, context)
  setHeaders(response)
  const url = parseUrl(request.url)
  const path = url.pathname
  if (OTLP_PATHS.has(path) || path.startsWith('/api/'))
    context.fetched?.assertReads(request.method ?? 'GET', path)
  if (OTLP_PATHS.has(path)) return handleOtlp(request, response, path, context)
  if (path === '/v1/hookspan') return sendJson(response, 200, context.announcement())
  if (path.startsWith('/api/')) {
    // A foreign page can make the browser ask, though not read the answer; it gets none.
    if (request.headers['sec-fetch-site'] === 'cross-site')
      throw new HttpError(403, 'Other sites may not call this viewer.')
    const found = findRoute(request.method ?? 'GET', path)
    if (!found) throw new HttpError(404, `Nothing at ${request.method} ${path.slice(0, 200)}.`)
    const mayRead = context.policy.loopback || hasToken(request.headers, context.policy)
    if (!mayRead || (found.route.needsToken && !hasToken(request.headers, context.policy))) {
      throw new HttpError(401, 'This needs the token: open the link that `hookspan view` printed.')
    }
    context.onLooked()
    await context.fetched?.before(path, url.searchParams)
    if (path.startsWith('/api/runs')) await context.lookAtApprovals()
    return handleApi(request, response, found, url.searchParams, context)
  }
  return servePage(request, response, url, context)
}

async function servePage(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  context: AppContext,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new HttpError(405, 'The page is for reading.')
  // Every address without a dot is a view of the page, so that links to a run or a span open.
  const path = url.pathname
  const name = path.includes('.') ? path.slice(1) : 'index.html'
  const file = context.files.get(name)
  if (!file)
    throw new HttpError(
      404,
      name === 'index.html' ? 'The page is not built; run `npm run build`.' : 'No such file.',
    )
  const mayRead = context.policy.loopback && name === 'index.html'
  if (mayRead) {
    await context.lookAtApprovals()
    // What is wrong the page is told when it asks.
    await context.fetched?.before(path, url.searchParams).catch(() => {})
  }
  const page =
    name === 'index.html' && context.fetched ? readOnlyPage(file.body, context.fetched.name) : file.body
  const headers = { 'content-type': file.mediaType, 'cache-control': 'no-cache' }
  const pieces = mayRead && request.method === 'GET' ? runPage(page, url, request, context.store) : undefined
  if (!pieces) {
    response.writeHead(200, { ...headers, 'content-length': page.length })
    response.end(request.method === 'HEAD' ? undefined : page)
    return
  }
  // The browser fetches its script and its style while the run is read.
  response.writeHead(200, headers)
  response.write(pieces.beginning)
  // What is wrong the page is told when it asks.
  response.end(await takeTurns(pieces.rest).catch(() => pieces.plain))
}

function parseUrl(target: string | undefined): URL {
  try {
    return new URL(target ?? '/', 'http://viewer.invalid')
  } catch {
    throw new HttpError(400, 'The address is malformed.')
  }
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': body.length,
    'cache-control': 'no-store',
  })
  response.end(body)
}
