/** What of a message is shown in a chat, and what tells it from another. */
import { type Message, type MessagePart, messageText, parse, textOf } from './messages.ts'
import type { AttributeValue } from './span.ts'

/** A longer text is cut in the chat; the span shows it whole. In characters. */
export const TEXT_LIMIT = 20_000

export interface Piece {
  type: 'text' | 'reasoning' | 'media' | 'compaction' | 'data'
  text: string
  /** How much was left out. */
  cutChars: number
  /** Of media: the picture, as a data URI. */
  src?: string
}

/** Of a longer one, what tells it from others is made of all of it, and is short: a run may say hundreds of megabytes. */
const PRINT_LIMIT = 16_384
/** Nobody can write two messages ahead that are taken for one. */
const SEEDS = [randomSeed(), randomSeed()] as const

/** Equal for what is the same message, even when its ids or empty parts differ between output and later input. */
export function fingerprint(message: Message): string {
  const role = message.role === 'model' ? 'assistant' : message.role
  const parts = message.parts.map((part) => {
    switch (part.type) {
      case 'tool_call':
        return `call ${part.name} ${part.id}`
      case 'tool_result':
        return `result ${part.id} ${textOf(part.result).slice(0, 200)}`
      case 'text':
      case 'compaction':
        return part.text
      case 'reasoning':
        return ''
      default:
        return JSON.stringify(part)
    }
  })
  const print = `${role}\n${parts.filter(Boolean).join('\n')}`
  return print.length > PRINT_LIMIT ? shortPrint(print) : print
}

function shortPrint(print: string): string {
  let [a, b] = SEEDS
  for (let at = 0; at < print.length; at++) {
    const code = print.charCodeAt(at)
    a = Math.imul(a ^ code, 0x85ebca77)
    a ^= a >>> 13
    b = Math.imul(b ^ code, 0xc2b2ae3d)
    b ^= b >>> 16
  }
  return `${print.length} ${a} ${b}`
}

function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 32) | 0
}

/** What hookspan's tracing writes in place of the oldest messages, where all of them would have been too long. */
export function isCutMark(message: Message): boolean {
  return cutBy(message) > 0
}

function cutBy({ role, parts: [first, ...others] }: Message): number {
  if (role !== 'system' || others.length > 0 || first?.type !== 'text') return 0
  return Number(/^\[hookspan: (\d+) messages, \d+ bytes cut\]$/.exec(first.text)?.[1] ?? 0)
}

/** How many messages are not recorded. */
export function cutCount(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + cutBy(message), 0)
}

export function saysNothing(part: MessagePart): boolean {
  return (part.type === 'text' || part.type === 'reasoning') && part.text.trim() === ''
}

export function pieceOf(part: MessagePart): Piece[] {
  switch (part.type) {
    case 'text':
      return [piece('text', part.text)]
    case 'reasoning':
      return [piece('reasoning', part.text)]
    case 'compaction':
      return [piece('compaction', part.text)]
    case 'media':
      return [mediaPiece(part)]
    case 'unknown':
      return [dataPiece(part.value)]
    default:
      return []
  }
}

function mediaPiece({ modality, reference, src }: Extract<MessagePart, { type: 'media' }>): Piece {
  const told = piece('media', `${modality}${reference ? ` ${reference.slice(0, 200)}` : ''}`)
  return src === undefined ? told : { ...told, src }
}

export function dataPiece(value: AttributeValue): Piece {
  const parsed = parse(value)
  if (typeof parsed === 'string') return piece('text', parsed)
  return piece('data', parsed === null ? '' : JSON.stringify(parsed, null, 2))
}

export function piece(type: Piece['type'], text: string): Piece {
  return { type, text: beginningOf(text, TEXT_LIMIT), cutChars: Math.max(0, text.length - TEXT_LIMIT) }
}

/** By itself: what is cut off a text in V8 keeps all of that text in memory. */
export function beginningOf(text: string, chars: number): string {
  return text.length > chars ? JSON.parse(JSON.stringify(text.slice(0, chars))) : text
}

export function firstWords(message: Message): string {
  const calls = message.parts.map((part) =>
    part.type === 'tool_call' ? `${part.name}(…)` : part.type === 'tool_result' ? textOf(part.result) : '',
  )
  const text = messageText(message) || calls.filter(Boolean).join(' ')
  return `${message.role}: ${beginningOf(text, 1_000).replace(/\s+/g, ' ').slice(0, 120)}`
}
