import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Viewer } from 'hookspan/viewer'
import { expect } from 'vitest'

export type Value = string | number | boolean | Value[] | { [key: string]: Value }

export interface TestSpan {
  traceId?: string
  spanId: string
  parentSpanId?: string
  name?: string
  /** Milliseconds after the beginning of the test's time. */
  start?: number
  end?: number
  kind?: number
  error?: string
  attributes?: Record<string, Value>
  events?: { name: string; at?: number; attributes?: Record<string, Value> }[]
}

export const TRACE = 'a'.repeat(32)
const begins = new Map<string | undefined, number>()

/** When a file of tests began, of many in a process: recent, so that what has not ended may still be running. */
function beginMs(): number {
  const { testPath } = expect.getState()
  const begin = begins.get(testPath) ?? Date.now() - 10_000
  begins.set(testPath, begin)
  return begin
}

/** What happens now: spans are told in milliseconds since their file began, and what is silent for long has died. */
export const nowMs = () => Date.now() - beginMs()

/** `1` becomes `0000000000000001`. */
export const id = (number: number): string => number.toString(16).padStart(16, '0')

export function otlp(spans: TestSpan[], resource: Record<string, Value> = { 'service.name': 'test' }) {
  return {
    resourceSpans: [
      {
        resource: { attributes: pairs(resource) },
        scopeSpans: [{ scope: { name: 'test' }, spans: spans.map(otlpSpan) }],
      },
    ],
  }
}

export function otlpSpan(span: TestSpan) {
  const nanos = (ms: number) => `${BigInt(Math.round((beginMs() + ms) * 1000)) * 1000n}`
  return {
    traceId: span.traceId ?? TRACE,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name ?? 'span',
    kind: span.kind ?? 1,
    startTimeUnixNano: nanos(span.start ?? 0),
    endTimeUnixNano: nanos(span.end ?? (span.start ?? 0) + 1),
    attributes: pairs(span.attributes ?? {}),
    events: (span.events ?? []).map((event) => ({
      name: event.name,
      timeUnixNano: nanos(event.at ?? 0),
      attributes: pairs(event.attributes ?? {}),
    })),
    status: span.error === undefined ? {} : { code: 2, message: span.error },
  }
}

/** Attributes as OTLP/JSON has them. */
export function pairs(values: Record<string, Value>): { key: string; value: object }[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }))
}

export function anyValue(value: Value): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return { kvlistValue: { values: pairs(value) } }
}

export async function post(
  viewer: Viewer,
  body: unknown,
  init: { path?: string; headers?: Record<string, string> } = {},
) {
  return fetch(`${viewer.url}${init.path ?? '/v1/traces'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...init.headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  })
}

export async function getJson<T>(viewer: Viewer, path: string): Promise<T> {
  const response = await fetch(`${viewer.url}${path}`)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

/** A folder of the recorded runs, or `undefined` where they are not; on CI they must be there. */
export function recordings(name: string): string | undefined {
  const root = process.env.HOOKSPAN_DATA ?? fileURLToPath(new URL('../../../shared/data', import.meta.url))
  const folder = `${root}/${name}`
  if (existsSync(folder)) return folder
  if (process.env.CI === 'true') throw new Error(`The recordings are missing: ${folder}. Set HOOKSPAN_DATA.`)
  return undefined
}

export interface RecordedTrace {
  framework: string
  file: string
  traces: ReturnType<typeof otlp>
}

/** Recorded traces of several frameworks, as OTLP/JSON. Their ids are integers beyond 2^53. */
export function recordedTraces(): RecordedTrace[] {
  const root = recordings('any-agent-otel')
  if (!root) return []
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) =>
      readdirSync(`${root}/${entry.name}`)
        .sort()
        .map((file) => ({
          framework: entry.name,
          file,
          traces: convert(readFileSync(`${root}/${entry.name}/${file}`, 'utf8')),
        })),
    )
}

interface RecordedSpan {
  name: string
  kind: string
  parent: { span_id: string | null } | null
  start_time: string
  end_time: string
  status: { status_code: string; description: string | null }
  context: { trace_id: string; span_id: string }
  attributes: Record<string, Value>
  events: { name: string; timestamp: string; attributes: Record<string, Value> }[]
  resource: { attributes: Record<string, Value> }
}

function convert(text: string): ReturnType<typeof otlp> {
  // Every integer too long for a double becomes text before parsing; nothing inside a string is touched.
  const exact = text.replace(
    /"(?:[^"\\]|\\.)*"|-?\d+\.\d+(?:[eE][-+]?\d+)?|(-?\d{16,})/g,
    (whole, digits?: string) => (digits ? `"${digits}"` : whole),
  )
  const { spans } = JSON.parse(exact) as { spans: RecordedSpan[] }
  const hex = (digits: string | number, length: number) => BigInt(digits).toString(16).padStart(length, '0')
  return {
    resourceSpans: spans.map((span) => ({
      resource: { attributes: pairs(span.resource.attributes) },
      scopeSpans: [
        {
          scope: { name: 'recorded' },
          spans: [
            {
              traceId: hex(span.context.trace_id, 32),
              spanId: hex(span.context.span_id, 16),
              parentSpanId: span.parent?.span_id ? hex(span.parent.span_id, 16) : '',
              name: span.name,
              kind: 1,
              startTimeUnixNano: String(span.start_time),
              endTimeUnixNano: String(span.end_time),
              attributes: pairs(
                Object.fromEntries(Object.entries(span.attributes).filter(([, value]) => value !== null)),
              ),
              events: span.events.map((event) => ({
                name: event.name,
                timeUnixNano: String(event.timestamp),
                attributes: pairs(event.attributes ?? {}),
              })),
              status:
                span.status.status_code === 'error'
                  ? { code: 2, message: span.status.description ?? '' }
                  : {},
            },
          ],
        },
      ],
    })),
  }
}

/** The span of a run that ended for a reason. */
export const runSpan = (reason: string, more: Partial<TestSpan> = {}): TestSpan => ({
  spanId: id(1),
  name: 'invoke_agent a',
  end: 100,
  ...more,
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'a',
    'hookspan.operation.reason': reason,
    ...more.attributes,
  },
})
