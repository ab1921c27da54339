/** What the list shows of a run, into its row. */
import type { DatabaseSync } from 'node:sqlite'
import type { RunSummary } from '../model/span.ts'

export function saveSummary(db: DatabaseSync, id: number, summary: RunSummary): void {
  db.prepare(
    `UPDATE run SET dirty = 0, start_us = ?, end_us = ?, duration_ms = ?, status = ?, title = ?, agent = ?, service = ?,
       model = ?, conversation_id = ?, reason = ?, input_preview = ?, spans = ?, steps = ?, llm_calls = ?, tool_calls = ?,
       mocked_calls = ?, errors = ?, waiting = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, cost_usd = ?,
       agents = ?, tools = ?, models = ? WHERE id = ?`,
  ).run(
    summary.startUs,
    summary.endUs,
    summary.durationMs,
    summary.status,
    summary.title,
    summary.agent,
    summary.service,
    summary.model,
    summary.conversationId,
    summary.reason,
    summary.inputPreview,
    summary.spans,
    summary.steps,
    summary.llmCalls,
    summary.toolCalls,
    summary.mockedCalls,
    summary.errors,
    summary.waiting,
    storable(summary.inputTokens),
    storable(summary.outputTokens),
    storable(summary.cachedTokens),
    summary.costUsd,
    JSON.stringify(summary.agents),
    JSON.stringify(summary.tools),
    JSON.stringify(summary.models),
    id,
  )
}

/** SQLite keeps larger whole numbers, but they cannot be read back as numbers. */
function storable(count: number): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, count))
}
