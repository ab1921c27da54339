import { errorMessage } from '../../internal/errors.ts'
import { tracesUrlOf } from '../../tracing/export/traces-url.ts'

const PROBE_TIMEOUT_MS = 1_000
const JAEGER_UI_PORT = 16_686

/** Whoever takes spans over OTLP/HTTP. */
export interface Collector {
  readonly tracesUrl: string
  readonly kind: 'hookspan viewer' | 'collector'
  /** Where a person looks at the trace. */
  linkOf(traceId: string): string
}

export type CollectorSearch =
  | { readonly found: true; readonly collector: Collector }
  | { readonly found: false; readonly tracesUrl: string; readonly why: string }

/**
 * Finds out who listens at the endpoint of the option, else of the environment, else at localhost:4318.
 *
 * @throws HookspanError `INVALID_OPTION` for an endpoint that is no http(s) URL.
 */
export async function findCollector(endpoint: string | undefined): Promise<CollectorSearch> {
  const tracesUrl = tracesUrlOf(endpoint)
  try {
    const answer = await fetch(tracesUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    await answer.body?.cancel()
  } catch (error) {
    return { found: false, tracesUrl, why: reasonOf(error) }
  }
  return { found: true, collector: await describe(tracesUrl) }
}

async function describe(tracesUrl: string): Promise<Collector> {
  const uiUrl = await viewerUrl(tracesUrl)
  if (uiUrl !== undefined) {
    return {
      tracesUrl,
      kind: 'hookspan viewer',
      linkOf: (traceId) => new URL(`/run/${traceId}`, uiUrl).href,
    }
  }
  return { tracesUrl, kind: 'collector', linkOf: (traceId) => `${jaegerUrl(tracesUrl)}/trace/${traceId}` }
}

async function viewerUrl(tracesUrl: string): Promise<string | undefined> {
  try {
    const answer = await fetch(new URL('/v1/hookspan', tracesUrl), {
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    const { name, uiUrl } = (await answer.json()) as { name?: unknown; uiUrl?: unknown }
    if (name !== 'hookspan-viewer') return undefined
    return typeof uiUrl === 'string' && URL.canParse(uiUrl) ? uiUrl : new URL('/', tracesUrl).href
  } catch {
    return undefined
  }
}

/** Jaeger's page has a port of its own, on the host that takes the spans unless JAEGER_UI_URL says otherwise. */
function jaegerUrl(tracesUrl: string): string {
  const given = process.env.JAEGER_UI_URL?.replace(/\/+$/, '')
  return given || `http://${new URL(tracesUrl).hostname}:${JAEGER_UI_PORT}`
}

/** `fetch failed` says nothing; its cause does. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return errorMessage(error)
  if (error.name === 'TimeoutError') return 'no answer in time'
  const { cause } = error
  const first = cause instanceof AggregateError ? cause.errors[0] : cause
  return first === undefined ? errorMessage(error) : errorMessage(first)
}
