import type { SpanRow } from './span.ts'

/** What a row is about, in a word or two: the tool, the model, the agent, or what happened. */
export function rowTitle(row: Pick<SpanRow, 'category' | 'label' | 'name'>): string {
  if (row.category === 'human') return 'Approval'
  if (row.category === 'compact') return 'Compaction'
  return row.label || row.name
}
