import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { otlpBody } from '../support/otlp-body.ts'
import type { CheckedSpan } from './check.ts'

const KINDS = ['internal', 'server', 'client', 'producer', 'consumer']

export function ofSdk({ name, kind, status, attributes }: ReadableSpan): CheckedSpan {
  return {
    name,
    kind: KINDS[kind] ?? String(kind),
    failed: status.code === 2,
    ok: status.code === 1,
    attributes,
  }
}

interface Value {
  stringValue?: string
  intValue?: string | number
  doubleValue?: number
  boolValue?: boolean
  arrayValue?: { values?: Value[] }
}

interface Otlp {
  resourceSpans?: {
    scopeSpans?: {
      spans?: {
        name: string
        kind?: number
        status?: { code?: number }
        attributes?: { key: string; value: Value }[]
      }[]
    }[]
  }[]
}

/** The spans of a request, or of a file that `--out` wrote. */
export function ofOtlp(body: Buffer): CheckedSpan[] {
  const { resourceSpans = [] } = otlpBody(body) as Otlp
  return resourceSpans
    .flatMap(({ scopeSpans = [] }) => scopeSpans)
    .flatMap(({ spans = [] }) => spans)
    .map(({ name, kind = 0, status, attributes = [] }) => ({
      name,
      kind: KINDS[kind - 1] ?? String(kind),
      failed: status?.code === 2,
      ok: status?.code === 1,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)])),
    }))
}

function plain({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown {
  if (intValue !== undefined) return Number(intValue)
  return stringValue ?? doubleValue ?? boolValue ?? arrayValue?.values?.map(plain)
}
