/** What a model was sent, measured: how much of it by whom. */
import type { ToolDefinition } from './call-content.ts'
import { type Message, type MessagePart, textOf } from './messages.ts'

/** Kinds that are told apart; the rest is `other`. */
const MAX_KINDS = 12

/** A model's own count is not known for a part of what it was sent; of English text a token is about so much. */
export const CHARS_PER_TOKEN = 4

/** A picture costs by its pixels, some hundred tokens to two thousand, and not by the letters it is written in. */
const IMAGE_CHARS = 1_000 * CHARS_PER_TOKEN

/** Characters by role; what a tool gave back under `tool NAME`, the tools that were offered under `tools`. */
export function charsByRole(
  messages: readonly Message[],
  tools: readonly Pick<ToolDefinition, 'chars'>[],
): Record<string, number> {
  const chars = new Map<string, number>()
  const add = (kind: string, more: number) => chars.set(kind, (chars.get(kind) ?? 0) + more)
  const names = new Map<string, string>()
  for (const { role, parts } of messages) {
    for (const part of parts) {
      if (part.type === 'tool_call') names.set(part.id, part.name)
      const isResult = part.type === 'tool_result'
      add(isResult ? `tool ${names.get(part.id) ?? ''}`.trim() : (ROLES.get(role) ?? role), charsOf(part))
    }
  }
  if (tools.length > 0)
    add(
      'tools',
      tools.reduce((sum, tool) => sum + tool.chars, 0),
    )
  const sorted = [...chars].sort((a, b) => b[1] - a[1])
  const rest = sorted.splice(MAX_KINDS).reduce((sum, [, more]) => sum + more, 0)
  return Object.fromEntries(rest > 0 ? [...sorted, ['other', rest]] : sorted)
}

const ROLES: ReadonlyMap<string, string> = new Map([
  ['developer', 'system'],
  ['human', 'user'],
  ['model', 'assistant'],
  ['ai', 'assistant'],
])

export function charsOf(part: MessagePart): number {
  switch (part.type) {
    case 'tool_call':
      return part.name.length + textOf(part.arguments).length
    case 'tool_result':
      return textOf(part.result).length
    case 'media':
      return part.src !== undefined || part.modality.includes('image') ? IMAGE_CHARS : part.reference.length
    case 'unknown':
      return textOf(part.value).length
    default:
      return part.text.length
  }
}

/** Counts what is in a list, so that what is in it twice can be taken out twice. */
export class Bag {
  readonly #counts = new Map<string, number>()

  constructor(items: Iterable<string>) {
    for (const item of items) this.#counts.set(item, (this.#counts.get(item) ?? 0) + 1)
  }

  /** Whether it was still in. */
  take(item: string): boolean {
    const count = this.#counts.get(item) ?? 0
    if (count > 0) this.#counts.set(item, count - 1)
    return count > 0
  }
}
