/** The spans of a run a line each, with their ids: for who goes on to ask about one of them. */
import { formatAnswerer, formatCost, formatCount, formatDuration } from './format.ts'
import { rowTitle } from './row-title.ts'
import type { GateDecision, SpanRow } from './span.ts'
import { durationMs } from './timing.ts'
import { buildTree, flatten, spanOfRow } from './tree.ts'

const PREVIEW_CHARS = 100

export function outline(rows: readonly SpanRow[]): string[] {
  const root = buildTree(rows)
  if (root === undefined) return []
  return flatten(root).map(({ row, depth }) => `${indent(depth)}- ${lineOf(row)}`)
}

/** Chains of thousands would be all indentation: deeper ones say how deep they are. */
function indent(depth: number): string {
  return depth <= MAX_DEPTH ? '  '.repeat(depth) : `${'  '.repeat(MAX_DEPTH)}(depth ${depth}) `
}
const MAX_DEPTH = 12

function lineOf(row: SpanRow): string {
  const tokens = row.inputTokens + row.outputTokens
  const facts = [
    row.state === 'ended' ? formatDuration(durationMs(row)) : row.state,
    tokens > 0 && `${formatCount(row.inputTokens)} → ${formatCount(row.outputTokens)} tokens`,
    row.costUsd > 0 && formatCost(row.costUsd),
    row.outcome !== '' && row.outcome !== 'completed' && row.outcome,
    row.human?.action && `${row.human.action} ${formatAnswerer(row.human)}`.trim(),
    ...(row.category === 'gate' ? (row.gates ?? []).map(decided) : []),
    row.error && `failed: ${cut(row.errorText) || 'it does not say why'}`,
  ]
  const title = cut(rowTitle(row))
  const about = `${title.startsWith(`${row.category} `) ? '' : `${row.category} `}${title}${row.category === 'tool' && row.preview ? `(${cut(row.preview)})` : ''}`
  // What is an event of a span is found in that.
  const spanId = spanOfRow(row.spanId)
  return `${about}, ${facts.filter(Boolean).join(', ')}${/^[0-9a-f]{16}$/.test(spanId) ? ` \`${spanId}\`` : ''}`
}

function decided({ enforced, decision, code, reason }: GateDecision): string {
  return [enforced ? decision : `would ${decision}`, code, reason && cut(reason)].filter(Boolean).join(', ')
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > PREVIEW_CHARS ? `${line.slice(0, PREVIEW_CHARS)}…` : line
}
