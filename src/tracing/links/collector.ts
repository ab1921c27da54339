import { request } from 'node:https'
import { errorMessage } from '../../internal/errors.ts'
import { isError } from '../../internal/realms.ts'
import { exchange } from '../export/otlp-post.ts'
import { tlsByEnv } from '../export/otlp-target.ts'
import { tracesUrlOf } from '../export/traces-url.ts'
import { mendOfTls } from '../export/trouble.ts'
import { untraced } from '../export/untraced.ts'

const PROBE_TIMEOUT_MS = 1_000
const JAEGER_UI_PORT = 16_686

/** Whoever takes spans over OTLP/HTTP. */
export interface Collector {
  readonly tracesUrl: string
  /** `collector`: takes spans, and has no page that we know of. */
  readonly kind: 'hookspan viewer' | 'Jaeger' | 'collector'
  /** The page on which a person looks at the trace; undefined where none is known. */
  pageOf(traceId: string): string | undefined
}

export type CollectorSearch =
  | { readonly found: true; readonly collector: Collector }
  | {
      readonly found: false
      readonly tracesUrl: string
      readonly why: string
      /** What would help, where somebody listens whom TLS keeps us from. */
      readonly mend: string
    }

/**
 * Finds out who listens at the endpoint of the option, else of the environment, else at localhost:4318.
 *
 * @throws HookspanError `INVALID_OPTION` for an endpoint that is no http(s) URL.
 */
export async function findCollector(endpoint: string | undefined): Promise<CollectorSearch> {
  return collectorAt(tracesUrlOf(endpoint))
}

/** Finds out who listens at the URL of a traces route. */
export async function collectorAt(tracesUrl: string): Promise<CollectorSearch> {
  try {
    const answer = await ask(tracesUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
    })
    await answer.body?.cancel()
  } catch (error) {
    const code = String((causeOf(error) as { code?: unknown } | undefined)?.code ?? '')
    return { found: false, tracesUrl, why: reasonOf(error), mend: mendOfTls(code) }
  }
  return { found: true, collector: await describeCollector(tracesUrl) }
}

/** Who it is that takes spans there. */
export async function describeCollector(tracesUrl: string): Promise<Collector> {
  const viewer = await viewerUrl(tracesUrl)
  if (viewer !== undefined) {
    return { tracesUrl, kind: 'hookspan viewer', pageOf: (id) => new URL(`/run/${id}`, viewer).href }
  }
  const jaeger = await jaegerUrl(tracesUrl)
  if (jaeger !== undefined) return { tracesUrl, kind: 'Jaeger', pageOf: (id) => `${jaeger}/trace/${id}` }
  return { tracesUrl, kind: 'collector', pageOf: () => undefined }
}

async function viewerUrl(tracesUrl: string): Promise<string | undefined> {
  const { name, uiUrl } = (await askJson(new URL('/v1/hookspan', tracesUrl))) ?? {}
  if (name !== 'hookspan-viewer') return undefined
  return typeof uiUrl === 'string' && URL.canParse(uiUrl) ? uiUrl : new URL('/', tracesUrl).href
}

/**
 * Jaeger's page has a port of its own, on the host that takes the spans unless JAEGER_UI_URL says otherwise. It is
 * asked, because a link to a page that is not there is worse than none; what JAEGER_UI_URL says is believed.
 */
async function jaegerUrl(tracesUrl: string): Promise<string | undefined> {
  const given = process.env.JAEGER_UI_URL?.replace(/\/+$/, '')
  if (given) return given
  const { protocol, hostname } = new URL(tracesUrl)
  if (protocol !== 'http:') return undefined
  const url = `http://${hostname}:${JAEGER_UI_PORT}`
  return (await isJaeger(url)) ? url : undefined
}

/** Whether Jaeger's query API answers at its page's address. */
export async function isJaeger(url: string): Promise<boolean> {
  const { data, errors } = (await askJson(`${url}/api/services`)) ?? {}
  return data !== undefined && errors !== undefined
}

/** Whether the collector has the trace already: undefined where it does not say. */
export async function collectorHas(
  { kind, pageOf }: Collector,
  traceId: string,
): Promise<boolean | undefined> {
  const page = pageOf(traceId)
  if (page === undefined) return undefined
  if (kind === 'Jaeger') return jaegerHas(page)
  return isThere(page.replace(/\/run\/([0-9a-f]+)$/, '/api/runs/$1'))
}

/** Whether Jaeger has the trace: undefined where it does not say. */
export async function jaegerHas(page: string): Promise<boolean | undefined> {
  return isThere(page.replace(/\/trace\/([0-9a-f]+)$/, '/api/traces/$1'))
}

async function isThere(url: string): Promise<boolean | undefined> {
  try {
    const answer = await ask(url)
    await answer.body?.cancel()
    return answer.status === 404 ? false : answer.ok || undefined
  } catch {
    return undefined
  }
}

async function askJson(url: string | URL): Promise<Record<string, unknown> | undefined> {
  try {
    return (await (await ask(url)).json()) as Record<string, unknown>
  } catch {
    return undefined
  }
}

interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

function ask(url: string | URL, asked: Asked = {}): Promise<Response> {
  return untraced(async () => {
    const tls = String(url).startsWith('https:') ? tlsByEnv() : {}
    if (Object.keys(tls).length === 0)
      return fetch(url, { ...asked, signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    // `fetch` takes no certificates, and who is sent to with some is asked with them.
    const { method = 'GET', headers = {}, body = '' } = asked
    const sent = request(url, { method, headers, agent: false, ...tls })
    const answer = await exchange(sent, Buffer.from(body), PROBE_TIMEOUT_MS)
    return new Response(answer.status === 204 ? null : new Uint8Array(answer.body), { status: answer.status })
  })
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  if (!isError(error)) return errorMessage(error)
  if (error.name === 'TimeoutError') return 'no answer in time'
  return errorMessage(causeOf(error) ?? error)
}

/** Without the cause that `fetch` names, it is the error itself. */
function causeOf(error: unknown): unknown {
  const cause = isError(error) ? (error.cause ?? error) : error
  return cause instanceof AggregateError ? cause.errors[0] : cause
}
