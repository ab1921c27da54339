import { errorMessage } from '../../internal/errors.ts'
import { readRegularFile } from '../../internal/read-regular-file.ts'
import { type PlainSpan, readSpans } from '../../mock/trajectory/spans.ts'
import { shown } from '../render/shown.ts'

/** Milliseconds until Jaeger must have answered. */
const FETCH_TIMEOUT_MS = 30_000

export interface LoadTraceOptions {
  /** Address of Jaeger's web interface. */
  jaeger: string
  /** Only this trace of a file with several. */
  traceId?: string
}

/**
 * The spans of one trace: from a file, from Jaeger by address (`http://host:16686/trace/<id>`) or by trace id.
 *
 * @throws Error naming the source and the mend.
 */
export async function loadTrace(source: string, { jaeger, traceId }: LoadTraceOptions): Promise<PlainSpan[]> {
  const spans = readSpans(await loadJson(source, jaeger))
  if (spans === undefined) throw new Error(`"${shown(source)}" holds neither OTLP JSON nor Jaeger's JSON.`)
  const ids = [...new Set(spans.map((span) => span.traceId ?? ''))]
  if (traceId !== undefined) {
    const found = spans.filter((span) => (span.traceId ?? '').startsWith(traceId))
    if (found.length === 0)
      throw new Error(`No trace ${traceId} in "${shown(source)}". It holds: ${ids.join(', ')}.`)
    return found
  }
  if (ids.length > 1) {
    throw new Error(
      `"${shown(source)}" holds ${ids.length} traces: ${ids.join(', ')}. Choose one with --trace <id>.`,
    )
  }
  return spans
}

async function loadJson(source: string, jaeger: string): Promise<unknown> {
  const address = addressOf(source, jaeger)
  if (address !== undefined) return fetchJson(address)
  let text: string
  try {
    text = readRegularFile(source)
      .toString()
      .replace(/^\uFEFF/, '')
  } catch (error) {
    throw new Error(
      `"${shown(source)}" cannot be read (${errorMessage(error)}). Give a file, an address or a trace id.`,
    )
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    return readLines(text, source, error)
  }
}

/** The collector's file exporter writes one document a line. */
function readLines(text: string, source: string, failure: unknown): unknown[] {
  try {
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line) as unknown)
  } catch {
    throw new Error(`"${shown(source)}" is not JSON (${errorMessage(failure)}).`)
  }
}

function addressOf(source: string, jaeger: string): URL | undefined {
  if (/^[0-9a-f]{16,32}$/i.test(source)) return new URL(`/api/traces/${source}`, jaeger)
  if (!/^https?:\/\//.test(source)) return undefined
  const url = new URL(source)
  // The address of the page that shows a trace is what people copy.
  return new URL(url.pathname.replace(/\/trace\/([0-9a-f]+)$/i, '/api/traces/$1') + url.search, url)
}

async function fetchJson(address: URL): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(address, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause
    throw new Error(
      `${address} cannot be reached (${errorMessage(cause ?? error)}). Is Jaeger running there?`,
    )
  }
  if (response.status === 404)
    throw new Error(`${address}: no such trace (404). It may not have arrived yet.`)
  if (!response.ok) throw new Error(`${address} answered ${response.status}.`)
  return response.json()
}
