/** A conversation for a language model: Markdown, in which what was said cannot be taken for our own lines. */
import type { ConversationItem } from './conversation-items.ts'
import { formatAnswerer, formatCompaction, formatDuration } from './format.ts'
import type { Piece } from './message-pieces.ts'

export interface MarkdownLimits {
  /** Of one text; a longer one is cut, and it says by how much. */
  textChars: number
  /** What shows a span whole, for its id. */
  whole: (spanId: string) => string
}

/** A block for each thing that was said or done, in order. */
export function conversationBlocks(items: readonly ConversationItem[], limits: MarkdownLimits): string[] {
  return blocksOf(items, limits, [])
}

function blocksOf(
  items: readonly ConversationItem[],
  limits: MarkdownLimits,
  path: readonly string[],
): string[] {
  return items.flatMap((item) => blocksOfItem(item, limits, path))
}

function blocksOfItem(item: ConversationItem, limits: MarkdownLimits, path: readonly string[]): string[] {
  const of = (title: string, ...texts: string[]) => [
    [`### ${[...path, title].join(' › ')}${spanNote(item.spanId)}`, ...texts.filter(Boolean)].join('\n\n'),
  ]
  const whole = (piece: Piece) => pieceText(piece, item.spanId, limits)
  switch (item.kind) {
    case 'message': {
      const title = [item.role, item.model && `(${item.model})`].filter(Boolean).join(' ')
      return of(plain(title), ...item.pieces.map(whole))
    }
    case 'tool': {
      const state = item.state === 'ended' ? '' : item.state
      const how = [item.mocked ? 'mocked' : item.outcome || state, duration(item.durationMs)].filter(Boolean)
      return of(
        plain(`tool ${item.name}${how.length > 0 ? `: ${how.join(', ')}` : ''}`),
        labelled('the model asked for', item.asked ? whole(item.asked) : ''),
        labelled('arguments', whole(item.args)),
        labelled('error', item.error && fenced(cutText(item.error, item.spanId, limits))),
        labelled('result', item.result === undefined ? '' : whole(item.result)),
      )
    }
    case 'human':
      return of(
        plain(
          [
            `approval: ${item.action ?? 'waiting'}`,
            formatAnswerer(item),
            item.waitedMs && `after ${formatDuration(item.waitedMs)}`,
            item.reason && `because: ${item.reason}`,
          ]
            .filter(Boolean)
            .join(' '),
        ),
      )
    case 'compaction': {
      const what = item.error ? `compaction failed: ${item.error}` : 'context compacted'
      return of(plain(`${what} ${formatCompaction(item)}`.trim()), whole(item.summary))
    }
    case 'agent':
      return [
        ...of(plain(`agent ${item.label}${item.error ? `: ${item.error}` : ''}`)),
        ...blocksOf(item.items, limits, [...path, plain(item.label)]),
      ]
    // What was new to the call and what it said follows.
    case 'step':
      return item.ended === undefined ? [] : of(plain(`the reply ended by ${item.ended}`))
    case 'bare':
      return of(
        plain(
          `call of ${item.model || 'a model'}: ${item.inputTokens} → ${item.outputTokens} tokens, not captured`,
        ),
      )
    case 'error':
      return of('error', fenced(cutText(item.text, item.spanId, limits)))
  }
}

function spanNote(spanId: string): string {
  return spanId ? ` \`${spanId}\`` : ''
}

function labelled(label: string, text: string): string {
  return text && `${label}:\n${text}`
}

function duration(ms: number): string {
  return ms > 0 ? formatDuration(ms) : ''
}

function pieceText(piece: Piece, spanId: string, limits: MarkdownLimits): string {
  if (!piece.text) return ''
  const text = fenced(cutText(piece.text, spanId, limits, piece.cutChars))
  return piece.type === 'reasoning' || piece.type === 'media' ? `${piece.type}:\n${text}` : text
}

/** @param beyond how much of it had been cut before */
function cutText(text: string, spanId: string, { textChars, whole }: MarkdownLimits, beyond = 0): string {
  const kept = text.length > textChars ? text.slice(0, textChars).replace(/[\uD800-\uDBFF]$/, '') : text
  const left = text.length - kept.length + beyond
  return left === 0 ? kept : `${kept}\n… ${left} more characters${spanId ? `; whole: ${whole(spanId)}` : ''}`
}

/** A fence that nothing inside can end. */
export function fenced(text: string): string {
  const longest = [...text.matchAll(/`{3,}/g)].reduce((most, [run]) => Math.max(most, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

/** On one line, as part of a heading. */
export function plain(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}
