import type { Conversation, ConversationItem } from '../model/conversation-items.ts'
import {
  counted,
  formatAnswerer,
  formatCompaction,
  formatCost,
  formatCount,
  formatDuration,
  statusWord,
  TOLD_BY_STATUS,
  visibleText,
} from '../model/format.ts'
import type { Piece } from '../model/message-pieces.ts'
import type { RunSummary, SpanRow } from '../model/span.ts'
import { elapsedMs, TIME_KINDS, timeBreakdown } from '../model/timing.ts'
import { buildTree, flatten, type TreeNode } from '../model/tree.ts'
import { costNote } from '../model/tree-parts.ts'
import { type Why, whyOf } from '../model/why.ts'
import type { Paint } from './paint.ts'
import { STATUS_STYLES } from './runs-text.ts'
import { treeText } from './tree-text.ts'

interface ShowOptions {
  paint: Paint
  width: number
  nowMs: number
}

/** A run as a tree: what was done, how long it took, what it cost. */
export function showText(summary: RunSummary, rows: readonly SpanRow[], options: ShowOptions): string {
  const { paint, nowMs } = options
  const root = buildTree(rows)
  const lines = [
    `${paint.style('bold', paint.safe(summary.title || 'unnamed'))}  ${paint.style(STATUS_STYLES[summary.status], statusWord(summary.status))}${summary.reason && !TOLD_BY_STATUS.has(summary.reason) ? ` (${paint.safe(summary.reason, 40)})` : ''}  ${paint.style('dim', summary.traceId)}`,
  ]
  if (summary.inputPreview) lines.push(paint.safe(summary.inputPreview, options.width))
  const why = root && whyOf(root, summary)
  if (why) lines.push(paint.style('red', paint.safe(whyText(why))))
  lines.push(totals(summary, root, nowMs))
  if (root)
    lines.push(
      paint.style('dim', timeLine(root, nowMs)),
      '',
      ...treeText(rows, { ...options, allGates: true }),
    )
  return lines.join('\n')
}

function whyText({ what, where, message }: Why): string {
  return `${what}${where.length > 0 ? ` in ${where.join(' › ')}` : ''}: ${message}`
}

function totals(summary: RunSummary, root: TreeNode | undefined, nowMs: number): string {
  const parts = [
    formatDuration(elapsedMs(summary, nowMs * 1000)),
    `${formatCount(summary.inputTokens)} → ${formatCount(summary.outputTokens)} tokens${summary.cachedTokens ? ` (${Math.round((summary.cachedTokens / Math.max(1, summary.inputTokens)) * 100)}% cached)` : ''}`,
    `${formatCost(summary.costUsd)} ${costNote(root, summary)}`.trim(),
    counted(summary.llmCalls, 'model call'),
    `${counted(summary.toolCalls, 'tool call')}${summary.mockedCalls ? ` (${summary.mockedCalls} mocked)` : ''}`,
    counted(summary.errors, 'error'),
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
        ...(item.asked
          ? [`${indent}  ${paint.style('yellow', `the model asked for ${paint.safe(item.asked.text, 300)}`)}`]
          : []),
        ...(item.error
          ? [`${indent}  ${paint.style('red', `✗ ${paint.safe(item.error, 300)}`)}`]
          : item.result
            ? pieceLines(item.result, paint, `${indent}  `)
            : []),
        '',
      ]
    case 'human': {
      const who = formatAnswerer(item)
      return [
        `${indent}${paint.style('yellow', `☺ ${paint.safe(item.action ?? 'waiting', 40)}`)}${who && ` ${paint.safe(who, 80)}`}${item.waitedMs ? ` after ${formatDuration(item.waitedMs)}` : ''}${item.reason ? ` because: ${paint.safe(item.reason, 300)}` : ''}`,
        '',
      ]
    }
    case 'compaction':
      return [
        `${indent}${paint.style('magenta', `⇊ ${item.error ? 'compaction failed' : 'context compacted'}: ${formatCompaction(item)}`)}${item.error ? paint.style('red', ` ${paint.safe(item.error, 300)}`) : ''}`,
        ...pieceLines(item.summary, paint, `${indent}  `),
        '',
      ]
    case 'agent':
      return [
        `${indent}${paint.style('magenta', `◆ ${paint.safe(item.label, 60)}`)}${item.error ? paint.style('red', ` ✗ ${paint.safe(item.error, 300)}`) : ''}`,
        ...itemLines(item.items, paint, `${indent}  `),
      ]
    case 'step':
      return [
        `${indent}${paint.style('dim', `── ${item.step} ──`)}${item.ended ? paint.style('yellow', ` the reply ended by ${paint.safe(item.ended, 40)}`) : ''}`,
      ]
    case 'bare':
      return [
        `${indent}${paint.style('blue', `▸ ${paint.safe(item.model || 'model call', 60)}`)} ${formatCount(item.inputTokens)} → ${formatCount(item.outputTokens)} tokens`,
      ]
    case 'error':
      return [`${indent}${paint.style('red', `✗ ${paint.safe(item.text, 300)}`)}`, '']
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

/** A text of a conversation that is not all there, and the command that gives it whole. */
export interface Cut {
  spanId: string
  /** In which the text is cut. */
  kind: ConversationItem['kind']
  cutChars: number
  whole: string
}

/** @param show the command that shows a span of the run whole, for its id. */
export function cutsOf({ items }: Conversation, show: (spanId: string) => string): Cut[] {
  let last = ''
  const visit = (item: ConversationItem): Cut[] => {
    // What a model asked for and nobody did is in the call of the model.
    const spanId = item.spanId || last
    last = spanId
    const inside = item.kind === 'agent' ? item.items.flatMap(visit) : []
    const cutChars = piecesOf(item).reduce((sum, piece) => sum + piece.cutChars, 0)
    return cutChars === 0 ? inside : [{ spanId, kind: item.kind, cutChars, whole: show(spanId) }, ...inside]
  }
  return items.flatMap(visit)
}

function piecesOf(item: ConversationItem): readonly Piece[] {
  if (item.kind === 'message') return item.pieces
  if (item.kind === 'compaction') return [item.summary]
  if (item.kind !== 'tool') return []
  return [item.args, item.asked, item.result].filter((one) => one !== undefined)
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
