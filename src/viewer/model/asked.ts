/** What a model asked for, where a gate or a person had a tool called with something else. */
import { modelCall, toolCallFacts } from './call-content.ts'
import { parse } from './messages.ts'
import type { AttributeValue, SpanRecord, SpanRow } from './span.ts'

/** Who asked is the call before, of which a few may be of others who work at the same time. */
const MAX_READ = 50

export function isRewritten({ gates }: SpanRow): boolean {
  return gates?.some(({ decision, enforced }) => enforced && decision === 'mutate') === true
}

/** Undefined where it ran as it was asked for, and where that is not known. */
export function askedInstead(
  rows: readonly SpanRow[],
  open: (spanId: string) => SpanRecord | undefined,
  span: SpanRecord,
): AttributeValue | undefined {
  const row = rows.find(({ spanId }) => spanId === span.spanId)
  if (row?.category !== 'tool' || row.callId === '') return undefined
  const isEdited = rows.some(
    ({ parentSpanId, human }) => parentSpanId === row.spanId && human?.action === 'edit',
  )
  if (!isEdited && !isRewritten(row)) return undefined
  const calls = rows.filter(({ category, startUs }) => category === 'llm' && startUs <= row.startUs)
  for (const { spanId } of calls.sort((a, b) => b.startUs - a.startUs).slice(0, MAX_READ)) {
    const said = open(spanId)
    for (const part of said ? modelCall(said).output.flatMap(({ parts }) => parts) : []) {
      if (part.type !== 'tool_call' || part.id !== row.callId) continue
      const asked = parse(part.arguments)
      return JSON.stringify(asked) === JSON.stringify(toolCallFacts(span).args) ? undefined : asked
    }
  }
  return undefined
}
