import type { OtlpSpan, OtlpTraces } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { logAsOtlpEvent } from '../otlp/log-event.ts'
import { listOf } from '../otlp/plain.ts'
import type { SpanReader } from './span-reader.ts'

/** A run as OTLP/JSON, exactly as it was sent; logs that belong to spans travel as their events. */
export function* exportingRun(reader: SpanReader, runId: number): InTurns<OtlpTraces> {
  const byOrigin = new Map<number, NonNullable<OtlpTraces['resourceSpans']>[number]>()
  const spans = new Map<string, OtlpSpan>()
  for (const { originId, resource, scope, span } of reader.otlpSpans(yield* reader.spansOf(runId))) {
    yield
    let group = byOrigin.get(originId)
    if (!group) {
      group = { resource, scopeSpans: [{ scope, spans: [] }] }
      byOrigin.set(originId, group)
    }
    group.scopeSpans![0]!.spans!.push(span)
    spans.set(span.spanId, span)
  }
  for (const log of reader.otlpLogs(runId)) {
    yield
    const span = spans.get(log.spanId ?? '')
    if (span) span.events = [...listOf(span.events), logAsOtlpEvent(log)]
  }
  return { resourceSpans: [...byOrigin.values()] }
}
