import { jsonIn } from '../../internal/json.ts'
import { shownAsUrl } from '../../internal/shown-url.ts'
import { headersOf } from '../../tracing/export/headers.ts'
import { untraced } from '../../tracing/export/untraced.ts'
import { describeCollector, isJaeger } from '../../tracing/links/collector.ts'
import { asObject } from '../../wire/reading.ts'
import type { Finding } from './finding.ts'

/** Over this, spans of two machines lie in the wrong order where a person looks. */
const MOST_SKEW_MS = 5_000
/** What a Date header can tell: it has no parts of seconds. */
const DATE_STEP_MS = 1_000

/** Who it is that answers where spans go, and whether its clock is ours. Nothing where nobody answers. */
export async function checkBackend(tracesUrl: string, timeoutMs: number): Promise<Finding[]> {
  const answer = await ask(
    tracesUrl,
    timeoutMs,
    headersOf(undefined, () => {}),
  )
  if (answer === undefined) return []
  return [await kindOf(tracesUrl, answer, timeoutMs), checkClock(new URL(tracesUrl).host, answer)]
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** By our clock, when it was answered; and how long that took. */
  readonly atMs: number
  readonly tookMs: number
}

async function ask(
  url: string,
  timeoutMs: number,
  headers: Record<string, string> = {},
): Promise<Answer | undefined> {
  return untraced(async () => {
    const startedAt = performance.now()
    try {
      const response = await fetch(url, {
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
      const tookMs = performance.now() - startedAt
      const atMs = Date.now() - tookMs / 2
      return { status: response.status, headers: response.headers, text: await response.text(), atMs, tookMs }
    } catch {
      return undefined
    }
  })
}

/** Each is told by what it answers, not by its port. */
async function kindOf(tracesUrl: string, answer: Answer, timeoutMs: number): Promise<Finding> {
  const says = (kind: string, mend?: string): Finding => ({
    check: 'backend',
    state: mend === undefined ? 'ok' : 'note',
    says: `${new URL(tracesUrl).host} is ${kind}`,
    ...(mend !== undefined && { mend }),
  })
  const { kind } = await describeCollector(tracesUrl)
  if (kind === 'hookspan viewer') return says('hookspan view')
  const named = process.env.JAEGER_UI_URL?.replace(/\/+$/, '')
  if (kind === 'Jaeger') {
    if (!named || (await isJaeger(named)))
      return says(`Jaeger, whose page is ${named === undefined ? 'at port 16686' : shownAsUrl(named)}`)
    return says(
      `taken for Jaeger, because JAEGER_UI_URL is "${shownAsUrl(named)}", where no Jaeger answers`,
      'Set JAEGER_UI_URL to the page of Jaeger, or unset it.',
    )
  }
  const phoenix = await phoenixVersion(tracesUrl, answer, timeoutMs)
  if (phoenix !== undefined) return says(`Phoenix ${phoenix}`, phoenixMend())
  const langfuse = await langfuseVersion(tracesUrl, timeoutMs)
  if (langfuse !== undefined) return says(`Langfuse ${langfuse}`)
  // What the receiver of the OpenTelemetry collector says, which others are built on.
  if (answer.status === 405 && answer.text.includes('method not allowed, supported: [POST]')) {
    return says(
      'an OpenTelemetry collector, or one that is built on it. Where it sends spans, it does not say',
      'To have links: JAEGER_UI_URL names the page of a Jaeger behind it.',
    )
  }
  return says(
    'none of hookspan view, Jaeger, Phoenix, Langfuse and the OpenTelemetry collector',
    'Look for its settings in docs/backends, and whether the test span came to it.',
  )
}

async function phoenixVersion(
  tracesUrl: string,
  { headers }: Answer,
  timeoutMs: number,
): Promise<string | undefined> {
  const told = headers.get('x-phoenix-server-version')
  if (told !== null) return told
  const answer = await ask(new URL('/arize_phoenix_version', tracesUrl).href, timeoutMs)
  return answer?.status === 200 ? /^"?(\d+\.\d+\.\d+\S*?)"?$/.exec(answer.text.trim())?.[1] : undefined
}

function phoenixMend(): string | undefined {
  const protocol = process.env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? process.env.OTEL_EXPORTER_OTLP_PROTOCOL
  return protocol === 'http/json'
    ? 'Phoenix takes protobuf alone: unset OTEL_EXPORTER_OTLP_PROTOCOL, or set it to http/protobuf.'
    : undefined
}

const LANGFUSE_PATH = '/api/public/otel'

/** Its OTLP route has a path of its own. */
async function langfuseVersion(tracesUrl: string, timeoutMs: number): Promise<string | undefined> {
  const at = tracesUrl.indexOf(LANGFUSE_PATH)
  if (at < 0) return undefined
  const answer = await ask(`${tracesUrl.slice(0, at)}/api/public/health`, timeoutMs)
  const { status, version } = asObject(jsonIn(answer?.text ?? '')) ?? {}
  return status === 'OK' ? String(version ?? '') : undefined
}

function checkClock(host: string, { headers, atMs, tookMs }: Answer): Finding {
  const check = 'clock'
  const date = Date.parse(headers.get('date') ?? '')
  // What is kept on the way has the date of when it was made.
  if (Number.isNaN(date) || headers.has('age')) {
    return { check, state: 'ok', says: `${host} sends no date to compare the clocks by` }
  }
  // The header is cut to whole seconds: its middle is meant.
  const skewMs = date + DATE_STEP_MS / 2 - atMs
  const blurMs = DATE_STEP_MS / 2 + tookMs / 2
  if (Math.abs(skewMs) <= MOST_SKEW_MS + blurMs) {
    return {
      check,
      state: 'ok',
      says: `the clock of ${host} is at most ${seconds(Math.abs(skewMs) + blurMs)} from this one`,
    }
  }
  return {
    check,
    state: 'note',
    says:
      `the clock of ${host} is ${seconds(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'} this one. Over ` +
      `${seconds(MOST_SKEW_MS)}, spans of several machines lie in the wrong order`,
    mend: 'Set both by NTP: `timedatectl` tells on Linux whether that is done, `w32tm /query /status` on Windows.',
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
