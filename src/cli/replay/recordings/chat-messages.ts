import { type Message, type MessagePart, textOf } from '../../../viewer/model/messages.ts'

/** Messages as chat completions are sent them. */
export function chatMessages(messages: readonly Message[]): object[] {
  return messages.flatMap(({ role, parts }) => {
    const results = parts.flatMap((part) =>
      part.type === 'tool_result'
        ? [{ role: 'tool', tool_call_id: part.id, content: textOf(part.result) }]
        : [],
    )
    const said = parts.filter(({ type }) => type !== 'tool_result')
    return said.length > 0 || results.length === 0 ? [...results, chatMessage(role, said)] : results
  })
}

function chatMessage(role: string, parts: readonly MessagePart[]): object {
  const content = contentOf(parts)
  if (role !== 'assistant') return { role: ROLES.has(role) ? role : 'user', content: content ?? '' }
  const calls = parts.flatMap((part) =>
    part.type === 'tool_call'
      ? [
          {
            id: part.id,
            type: 'function',
            function: {
              name: part.name,
              arguments:
                typeof part.arguments === 'string' ? part.arguments : JSON.stringify(part.arguments ?? {}),
            },
          },
        ]
      : [],
  )
  return { role, content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
}

const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user'])

/** Text, and of what is none what it is: exports leave pictures and files out. */
export function contentOf(parts: readonly MessagePart[]): string | null {
  const texts = parts.flatMap((part) => {
    if (part.type === 'text' || part.type === 'compaction') return [part.text]
    if (part.type === 'media') return [`[${part.modality}: ${part.reference}]`]
    return part.type === 'unknown' ? [textOf(part.value)] : []
  })
  return texts.length > 0 ? texts.join('\n') : null
}
