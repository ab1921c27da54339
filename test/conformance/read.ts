import type { ReadableSpan } from '@opentelemetry/sdk-trace'
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
