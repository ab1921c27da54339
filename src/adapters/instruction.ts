import { isRecord } from '../internal/objects.ts'
import { asObject, asObjects, asText, type Loose } from '../wire/reading.ts'

/** Where the messages of SDKs have their parts. */
const PARTS = ['content', 'parts'] as const

/**
 * What an agent is called with: the last word of its user, in a text, a message, its parts, or a conversation. Undefined
 * where the input is nothing of these.
 */
export function instructionIn(input: unknown): string | undefined {
  if (!Array.isArray(input)) return asText(input) ?? wordOf(input)
  const said = input.findLast(isUsers)
  return said === undefined && input.some(isText) ? saidIn(input) : (asText(said) ?? wordOf(said))
}

/** The input with another instruction in its place. Pictures and files beside it stay, and so does the conversation before. */
export function withInstruction(input: unknown, instruction: string): unknown {
  if (instructionIn(input) === instruction) return input
  if (!Array.isArray(input)) return worded(input, instruction)
  const at = input.findLastIndex(isUsers)
  if (at >= 0) return input.with(at, worded(input[at], instruction))
  return input.some(isText)
    ? partsWith(input, instruction)
    : [...input, { role: 'user', content: instruction }]
}

/** The texts of what a message says, a line for each. */
export function saidIn(content: unknown): string {
  const texts = asObjects(content).flatMap(({ text }) => asText(text) ?? [])
  return asText(content) ?? texts.join('\n')
}

function isUsers(message: unknown): boolean {
  return typeof message === 'string' || asObject(message)?.role === 'user'
}

function wordOf(message: unknown): string | undefined {
  const said = PARTS.map((key) => asObject(message)?.[key]).find(isSaid)
  return said === undefined ? undefined : saidIn(said)
}

function isSaid(content: unknown): boolean {
  return typeof content === 'string' || Array.isArray(content)
}

function worded(message: unknown, text: string): unknown {
  if (!isRecord(message)) return text
  const said = PARTS.filter((key) => isSaid(message[key]))
  if (said.length === 0) return text
  const changed = said.map((key) => [key, Array.isArray(message[key]) ? partsWith(message[key], text) : text])
  return { ...message, ...Object.fromEntries(changed) }
}

/** The first text is exchanged, written as it was, and the others are taken out. */
function partsWith(parts: readonly unknown[], text: string): unknown[] {
  const at = parts.findIndex(isText)
  const first = at < 0 ? textPart(parts) : (parts[at] as Loose)
  const others = parts.filter((part) => !isText(part))
  return others.toSpliced(Math.max(at, 0), 0, { ...first, text })
}

function isText(part: unknown): boolean {
  return typeof asObject(part)?.text === 'string'
}

/** A text as the SDK writes it that wrote these. */
function textPart(parts: readonly unknown[]): Loose {
  const types = asObjects(parts).flatMap(({ type }) => asText(type) ?? [])
  if (types.length === 0) return {}
  return { type: types.some((type) => type.startsWith('input_')) ? 'input_text' : 'text' }
}
