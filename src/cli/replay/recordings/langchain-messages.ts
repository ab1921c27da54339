import { isRecord } from '../../../internal/objects.ts'
import type { Fields } from './fields.ts'

const ROLES: Readonly<Record<string, string>> = {
  ...{ human: 'user', ai: 'assistant', system: 'system', tool: 'tool', developer: 'system', chat: 'user' },
  ...{ HumanMessage: 'user', AIMessage: 'assistant', SystemMessage: 'system', ToolMessage: 'tool' },
  ...{ HumanMessageChunk: 'user', AIMessageChunk: 'assistant' },
}

/** A message as LangChain writes it: `{ lc, id: [..., 'AIMessage'], kwargs }`, `{ type: 'ai', data }`, `{ type: 'ai', content }`. */
export function isLangChainMessage(value: unknown): value is Fields {
  return isRecord(value) && roleOf(value) !== undefined
}

/** Messages of LangChain as messages with a role; anything else as it is. */
export function plainMessages(messages: unknown): unknown {
  if (Array.isArray(messages)) return messages.map(plainMessage)
  return isLangChainMessage(messages) ? [plainMessage(messages)] : messages
}

function plainMessage(message: unknown): unknown {
  if (!isLangChainMessage(message)) return message
  const fields = fieldsOf(message)
  const extra = isRecord(fields.additional_kwargs) ? fields.additional_kwargs : {}
  const own = Array.isArray(fields.tool_calls) && fields.tool_calls.length > 0 ? fields.tool_calls : undefined
  const calls = own ?? extra.tool_calls
  const content =
    Array.isArray(fields.content) && Array.isArray(calls)
      ? // The calls are told beside the content, too.
        fields.content.filter((part) => !isRecord(part) || part.type !== 'tool_use')
      : fields.content
  return {
    role: roleOf(message),
    content,
    ...(Array.isArray(calls) ? { tool_calls: calls } : {}),
    ...(typeof fields.tool_call_id === 'string' ? { tool_call_id: fields.tool_call_id } : {}),
  }
}

function roleOf(message: Fields): string | undefined {
  if (typeof message.role === 'string') return undefined
  const { id, type } = message
  const name = Array.isArray(id) && isRecord(message.kwargs) ? id.at(-1) : type
  return typeof name === 'string' && Object.hasOwn(ROLES, name) ? ROLES[name] : undefined
}

/** A message's own fields: LangChain keeps them one level down. */
export function fieldsOf(message: unknown): Fields {
  if (!isRecord(message)) return {}
  if (isRecord(message.kwargs)) return message.kwargs
  return isRecord(message.data) ? message.data : message
}

/** The messages of an answer: of LangChain, of a wrapped client, or of a function of the user's own. */
export function answersOf(outputs: unknown): unknown[] {
  if (!isRecord(outputs)) return []
  const { generations, choices, messages, output, message } = outputs
  if (Array.isArray(generations)) {
    const [first] = generations.flat()
    return isRecord(first) ? [answerOf(first.message) ?? { role: 'assistant', content: first.text }] : []
  }
  if (Array.isArray(choices)) return choices.filter(isRecord).map((choice) => choice.message)
  if (Array.isArray(messages)) return messages
  if (Array.isArray(output)) return output
  if (message !== undefined) return [answerOf(message)]
  if (output !== undefined) return [isRecord(output) ? output : { role: 'assistant', content: output }]
  return 'content' in outputs || isLangChainMessage(outputs) ? [outputs] : []
}

/** Some leave out whose it is: an answer is the model's. */
function answerOf(message: unknown): unknown {
  const isTold = !isRecord(message) || typeof message.role === 'string' || roleOf(message) !== undefined
  return isTold ? message : { ...message, type: 'ai' }
}
