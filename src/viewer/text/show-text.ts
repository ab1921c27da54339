import type { Conversation, ConversationItem, Piece } from '../model/conversation.ts'
import { formatCost, formatCount, formatDuration, visibleText } from '../model/format.ts'
import { rowTitle } from '../model/row-title.ts'
import type { RunSummary, SpanRow } from '../model/span.ts'
import { endOf, TIME_KINDS, timeBreakdown } from '../model/timing.ts'
import { buildTree, flatten, type TreeNode } from '../model/tree.ts'
import { cells, type Paint, padStart, type Style } from './paint.ts'
import { STATUS_STYLES } from './runs-text.ts'

interface ShowOptions {
  paint: Paint
  width: number
  nowMs: number
}

const ICONS: Record<SpanRow['category'], string> = {
  agent: '◆',
  step: '·',
  llm: '▸',
  tool: '⚙',
  human: '☺',
  compact: '⇊',
  gate: '⛨',
  retrieval: '⌕',
  embedding: '⋯',
  chain: '·',
  other: '·',
  missing: '?',
}
const COLOURS: Partial<Record<SpanRow['category'], Style>> = {
  agent: 'magenta',
  llm: 'blue',
  tool: 'cyan',
  human: 'yellow',
  compact: 'magenta',
  gate: 'dim',
  step: 'dim',
  other: 'dim',
  chain: 'dim',
  missing: 'dim',
}

/** A run as a tree: what was done, how long it took, what it cost. */
export function showText(summary: RunSummary, rows: readonly SpanRow[], options: ShowOptions): string {
  const { paint, nowMs } = options
  const root = buildTree(rows)
  const lines = [
    `${paint.style('bold', paint.safe(summary.title || 'unnamed'))}  ${paint.style(STATUS_STYLES[summary.status], summary.status)}${summary.reason && summary.reason !== 'done' ? ` (${paint.safe(summary.reason, 40)})` : ''}  ${paint.style('dim', summary.traceId)}`,
  ]
  if (summary.inputPreview) lines.push(paint.safe(summary.inputPreview, options.width))
  lines.push(totals(summary))
  if (root)
    lines.push(
      paint.style('dim', timeLine(root, nowMs)),
      '',
      ...flatten(root).map((node) => rowLine(node, options)),
    )
  return lines.join('\n')
}

function totals(summary: RunSummary): string {
  const parts = [
    formatDuration(summary.durationMs),
    `${formatCount(summary.inputTokens)} → ${formatCount(summary.outputTokens)} tokens${summary.cachedTokens ? ` (${Math.round((summary.cachedTokens / Math.max(1, summary.inputTokens)) * 100)}% cached)` : ''}`,
    formatCost(summary.costUsd),
    `${summary.llmCalls} model calls`,
    `${summary.toolCalls} tool calls${summary.mockedCalls ? ` (${summary.mockedCalls} mocked)` : ''}`,
    `${summary.errors} errors`,
  ]
  return parts.filter((part) => part !== '–').join(', ')
}

const TIME_NAMES = {
  model: 'model',
  tool: 'tools',
  human: 'people',
  other: 'gates and compaction',
  idle: 'own code',
} as const

function timeLine(root: TreeNode, nowMs: number): string {
  const times = timeBreakdown(root, nowMs * 1000)
  return `time: ${
    TIME_KINDS.filter((kind) => times[kind] >= 1)
      .map((kind) => `${TIME_NAMES[kind]} ${formatDuration(times[kind])}`)
      .join(', ') || 'none'
  }`
}

function rowLine(node: TreeNode, { paint, width, nowMs }: ShowOptions): string {
  const { row, depth } = node
  const time =
    row.state === 'interrupted'
      ? 'interrupted'
      : formatDuration((endOf(row, nowMs * 1000) - row.startUs) / 1000)
  const indent = '  '.repeat(Math.min(depth, 30))
  const plain = `${indent}${ICONS[row.category]} ${paint.safe(rowTitle(row), 60)}`
  const marks = marksOf(row, paint)
  const room = width - cells(plain) - 13 - marks.reduce((sum, mark) => sum + mark.text.length + 1, 0)
  const hint = row.category === 'tool' && !row.error && room > 8 ? paint.safe(row.preview, room) : ''
  const title = paint.style(COLOURS[row.category] ?? 'dim', plain)
  const parts = [
    title,
    ...marks.map((mark) => paint.style(mark.style, mark.text)),
    paint.style('dim', hint),
  ].filter(Boolean)
  return `${padStart(time, 11)}  ${parts.join(' ')}`.trimEnd()
}

function marksOf(row: SpanRow, paint: Paint): { text: string; style: Style }[] {
  const marks: { text: string; style: Style }[] = []
  if (row.category === 'llm' && row.inputTokens + row.outputTokens > 0)
    marks.push({ text: `${formatCount(row.inputTokens)} → ${formatCount(row.outputTokens)}`, style: 'dim' })
  if (row.costUsd > 0) marks.push({ text: formatCost(row.costUsd), style: 'dim' })
  if (row.mocked) marks.push({ text: 'mocked', style: 'green' })
  if (row.outcome === 'denied' || row.outcome === 'rejected' || row.outcome === 'skipped')
    marks.push({ text: row.outcome, style: 'red' })
  if (row.category === 'human')
    marks.push({
      text: row.human?.action ?? (row.state === 'running' ? 'waiting' : 'asked'),
      style: 'yellow',
    })
  if (row.compaction)
    marks.push({
      text: `${formatCount(row.compaction.tokensBefore ?? 0)} → ${formatCount(row.compaction.tokensAfter ?? 0)} tokens`,
      style: 'magenta',
    })
  if (row.category === 'gate' && row.gates?.[0])
    marks.push({
      text: `${row.gates[0].enforced ? '' : 'shadow: '}${paint.safe(row.gates[0].decision, 30)}`,
      style: row.gates[0].decision === 'proceed' ? 'dim' : 'red',
    })
  if (row.state === 'running' && row.category !== 'human') marks.push({ text: 'running', style: 'blue' })
  if (row.error) marks.push({ text: paint.safe(row.errorText || 'error', 80), style: 'red' })
  return marks
}

/** A run as the chat it was. */
export function conversationText(conversation: Conversation, paint: Paint): string {
  if (conversation.items.length === 0) return 'Nothing was said in this run.'
  const note = conversation.hasContent
    ? []
    : ['Messages were not captured; with hookspan, `captureContent: true` records them.', '']
  return [...note, ...itemLines(conversation.items, paint, '')].join('\n')
}

function itemLines(items: readonly ConversationItem[], paint: Paint, indent: string): string[] {
  return items.flatMap((item) => linesOf(item, paint, indent))
}

function linesOf(item: ConversationItem, paint: Paint, indent: string): string[] {
  switch (item.kind) {
    case 'message':
      return [
        `${indent}${paint.style('bold', paint.safe(item.role, 20))}${item.model ? paint.style('dim', ` ${paint.safe(item.model, 40)}`) : ''}`,
        ...item.pieces.flatMap((piece) => pieceLines(piece, paint, `${indent}  `)),
        '',
      ]
    case 'tool':
      return [
        `${indent}${paint.style('cyan', `⚙ ${paint.safe(item.name, 60)}`)}(${paint.safe(item.args.text, 300)})${item.mocked ? paint.style('green', ' mocked') : ''}${item.outcome === 'denied' || item.outcome === 'rejected' ? paint.style('red', ` ${item.outcome}`) : ''}`,
        ...(item.error
          ? [`${indent}  ${paint.style('red', paint.safe(item.error, 300))}`]
          : item.result
            ? pieceLines(item.result, paint, `${indent}  `)
            : []),
        '',
      ]
    case 'human':
      return [
        `${indent}${paint.style('yellow', `☺ ${item.action ?? 'waiting'}`)}${item.approver ? ` by ${paint.safe(item.approver, 40)}` : ''}${item.waitedMs ? ` after ${formatDuration(item.waitedMs)}` : ''}`,
        '',
      ]
    case 'compaction':
      return [
        `${indent}${paint.style('magenta', `⇊ context compacted: ${formatCount(item.tokensBefore ?? 0)} → ${formatCount(item.tokensAfter ?? 0)} tokens`)}`,
        ...pieceLines(item.summary, paint, `${indent}  `),
        '',
      ]
    case 'agent':
      return [
        `${indent}${paint.style('magenta', `◆ ${paint.safe(item.label, 60)}`)}`,
        ...itemLines(item.items, paint, `${indent}  `),
      ]
    case 'bare':
      return [
        `${indent}${paint.style('blue', `▸ ${paint.safe(item.model || 'model call', 60)}`)} ${formatCount(item.inputTokens)} → ${formatCount(item.outputTokens)} tokens`,
      ]
    case 'error':
      return [`${indent}${paint.style('red', paint.safe(item.text, 300))}`]
  }
}

function pieceLines(piece: Piece, paint: Paint, indent: string): string[] {
  if (!piece.text) return []
  const label = piece.type === 'reasoning' ? '(reasoning) ' : ''
  const lines = visibleText(piece.text)
    .split('\n')
    .map((line) => indent + line)
  if (label) lines[0] = indent + paint.style('dim', label) + lines[0]!.slice(indent.length)
  if (piece.cutChars > 0) lines.push(`${indent}${paint.style('dim', `… ${piece.cutChars} more characters`)}`)
  return lines
}

/** Rows in tree order with their depth, for programs. The names are stable. */
export function spansForJson(rows: readonly SpanRow[]): object[] {
  const root = buildTree(rows)
  return root
    ? flatten(root).map(({ row, depth }) => ({
        depth,
        ...row,
        durationMs: row.endUs > 0 ? (row.endUs - row.startUs) / 1000 : null,
      }))
    : []
}
