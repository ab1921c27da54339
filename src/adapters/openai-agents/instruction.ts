import { isRecord } from '../../internal/objects.ts'
import { asObjects } from '../../wire/reading.ts'
import { type Item, isRunState } from './sdk.ts'

/** What an agent is called with: the last word of its user. */
export function instructionIn(input: unknown): string {
  if (typeof input === 'string') return input
  const { content } = Array.isArray(input) ? (asObjects(input).findLast(isUser) ?? {}) : {}
  if (typeof content === 'string') return content
  return asObjects(content)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n')
}

/** The input with another instruction in its place. Pictures and files beside it stay, and so does the conversation before. */
export function withInstruction(input: unknown, instruction: string): unknown {
  // A run that goes on has been given its own.
  if (isRunState(input) || instructionIn(input) === instruction) return input
  if (!Array.isArray(input)) return instruction
  const at = input.findLastIndex((item) => isRecord(item) && isUser(item))
  if (at < 0) return [...input, { role: 'user', content: instruction }]
  return input.with(at, { ...input[at], content: contentWith(input[at].content, instruction) })
}

function contentWith(content: unknown, text: string): unknown {
  if (!Array.isArray(content)) return text
  const others = content.filter((part) => !isRecord(part) || typeof part.text !== 'string')
  return [{ type: 'input_text', text }, ...others]
}

function isUser({ role }: Item): boolean {
  return role === 'user'
}
