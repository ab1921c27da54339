import type { SpanDigest } from './digest.ts'
import type { SpanRow } from './span.ts'

/** The row of a span. How it ended, if it did, is for the one who knows the run to say. */
export function rowOf(
  span: Pick<SpanRow, 'spanId' | 'parentSpanId' | 'name' | 'startUs'>,
  digest: SpanDigest,
  { endUs, state, error, service }: Pick<SpanRow, 'endUs' | 'state' | 'error' | 'service'>,
): SpanRow {
  return {
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    category: digest.category,
    startUs: span.startUs,
    endUs,
    state,
    error,
    label: digest.label,
    service,
    inputTokens: digest.inputTokens,
    outputTokens: digest.outputTokens,
    cachedTokens: digest.cachedTokens,
    reasoningTokens: digest.reasoningTokens,
    costUsd: digest.costUsd,
    costEstimated: false,
    outcome: digest.outcome,
    mocked: digest.mocked,
    callId: digest.callId,
    preview: digest.preview,
    errorText: digest.detail?.errorText ?? '',
    gates: digest.detail?.gates,
    compaction: digest.detail?.compaction,
    human: digest.detail?.human,
  }
}
