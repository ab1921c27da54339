import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { digestSpan } from '../../viewer/model/digest.ts'
import type { SpanRow } from '../../viewer/model/span.ts'
import { emptyRow } from '../../viewer/model/tree.ts'
import { listOf, plainSpan } from '../../viewer/otlp/plain.ts'

/** Every span of an OTLP request as a row of a tree. */
export function rowsOf(traces: OtlpTraces): SpanRow[] {
  return listOf(traces.resourceSpans).flatMap(({ resource, scopeSpans }) =>
    listOf(scopeSpans).flatMap(({ scope, spans }) =>
      listOf(spans).map((span) => rowOf(plainSpan(span, resource, scope))),
    ),
  )
}

function rowOf(span: ReturnType<typeof plainSpan>): SpanRow {
  const { category, label, detail, ...facts } = digestSpan(
    span.name,
    span.attributes,
    span.events,
    span.status,
  )
  return {
    ...emptyRow(span.spanId, span.name),
    parentSpanId: span.parentSpanId,
    category,
    label,
    startUs: span.startUs,
    endUs: span.endUs,
    state: span.endUs === 0 ? 'running' : 'ended',
    error: span.status.code === 2,
    service: String(span.resource['service.name'] ?? ''),
    inputTokens: facts.inputTokens,
    outputTokens: facts.outputTokens,
    cachedTokens: facts.cachedTokens,
    reasoningTokens: facts.reasoningTokens,
    costUsd: facts.costUsd,
    outcome: facts.outcome,
    mocked: facts.mocked,
    callId: facts.callId,
    preview: facts.preview,
    ...detail,
    errorText: detail?.errorText ?? '',
  }
}
