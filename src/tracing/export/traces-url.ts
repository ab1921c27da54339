import { describeValue, HookspanError } from '../../internal/errors.ts'
import { shownAsUrl } from '../../internal/shown-url.ts'

export interface TracesEndpoint {
  /** Of the traces route, without user and password. Its query may be a key: messages show it by `shownUrl`. */
  readonly url: string
  /** What the URL's user and password are sent as. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The traces route, from the option or the environment, where an empty variable is none.
 *
 * @throws HookspanError `INVALID_OPTION` for what is no http(s) URL.
 */
export function tracesEndpoint(endpoint: string | undefined): TracesEndpoint {
  const traces = process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim()
  const base = process.env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim()
  if (endpoint === undefined && traces) return endpointAt(checked(traces))
  const url = checked(endpoint ?? (base || 'http://localhost:4318'))
  // A token may follow the path.
  if (!TRACES_ROUTE.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`
  return endpointAt(url)
}

export function tracesUrlOf(endpoint: string | undefined): string {
  return tracesEndpoint(endpoint).url
}

/** The route of another signal at the same collector. */
export function besideTraces(tracesUrl: string, signal: 'metrics' | 'logs'): string {
  const url = new URL(tracesUrl)
  url.pathname = url.pathname.replace(TRACES_ROUTE, `/v1/${signal}$1`)
  return url.href
}

const TRACES_ROUTE = /\/v1\/traces(\/?)$/

function endpointAt(url: URL): TracesEndpoint {
  const { username, password, origin, pathname, search } = url
  const shown = pathname === '/' ? `${origin}${search}` : `${origin}${pathname}${search}`
  if (username === '' && password === '') return { url: shown, headers: {} }
  const credentials = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')
  return { url: shown, headers: { authorization: `Basic ${credentials}` } }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function checked(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected the OTLP endpoint to be an http(s) URL such as "http://localhost:4318", got ${describeValue(shownAsUrl(value))}.`,
  )
}
