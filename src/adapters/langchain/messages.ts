import type { LlmResponse } from '../../hooks/index.ts'
import { safeStringify } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import {
  asName,
  asObject,
  asObjects,
  asText,
  type LlmReading,
  type Loose,
  readUsage,
  type UsageNames,
} from '../../wire/reading.ts'
import { costBeside } from '../../wire/told-cost.ts'
import type { LcMessage, LcMessages } from './lang-chain.ts'

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant', generic: 'user' }

/** Messages in the words that chat models take, and LangChain, too. */
export function plainMessages(messages: readonly LcMessage[]): Loose[] {
  return messages.map((message) => {
    const type = message.getType?.() ?? 'human'
    const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: safeStringify(args) },
    }))
    return defined({
      role: ROLES[type] ?? type,
      content: message.content,
      name: message.name,
      tool_calls: calls.length === 0 ? undefined : calls,
      tool_call_id: message.tool_call_id,
    }) as Loose
  })
}

export function textOf({ text, content }: LcMessage): string {
  if (typeof text === 'string') return text
  if (typeof content === 'string') return content
  return asObjects(content)
    .map((part) => asText(part.text) ?? '')
    .join('')
}

/** What the model thought, where a block of content says so, in the words of each provider's package. */
export function thoughtIn({ type, thinking, reasoning, reasoningText, summary }: Loose): string | undefined {
  if (type === 'thinking' || type === 'redacted_thinking') return asText(thinking) ?? ''
  if (type !== 'reasoning' && type !== 'reasoning_content') return undefined
  const said = asText(reasoning) ?? asText(reasoningText) ?? asText(asObject(reasoningText)?.text)
  return said ?? summaryOf(summary)
}

function summaryOf(summary: unknown): string {
  return asObjects(summary)
    .map(({ text }) => asText(text) ?? '')
    .join('\n')
}

function thoughtsOf({ content, additional_kwargs: about = {} }: LcMessage): string | undefined {
  const said = Array.isArray(content) ? asObjects(content).map((block) => thoughtIn(block) ?? '') : []
  const beside = asText(about.reasoning_content) ?? summaryOf(asObject(about.reasoning)?.summary)
  return said.filter(Boolean).join('\n') || beside || undefined
}

/** Why the model stopped, in the words of each provider's package. */
const ENDED_BY = ['finish_reason', 'stop_reason', 'finishReason', 'stopReason', 'done_reason']

/** What the model said. Where LangChain made more of it, as of structured output, the message in it counts. */
export function readReply(reply: unknown): LlmReading {
  const { messages } = reply as { messages?: unknown }
  const message = (Array.isArray(messages) ? messages[0] : reply) as LcMessage
  const { id, tool_calls = [], usage_metadata: usage, response_metadata, additional_kwargs } = message
  // Of a stream some packages tell it beside the message.
  const about: Loose = { ...additional_kwargs, ...response_metadata }
  const finish = ENDED_BY.map((name) => asName(about[name])).find((reason) => reason !== undefined)
  const content = textOf(message)
  const response = defined({
    id,
    model: asName(about.model_name) ?? asName(about.model),
    finishReasons: finish === undefined ? undefined : [finish],
    content: content === '' && tool_calls.length > 0 ? undefined : content,
    reasoning: thoughtsOf(message),
    toolCalls:
      tool_calls.length === 0
        ? undefined
        : tool_calls.map(({ id: toolCallId = '', name, args }) => ({ toolCallId, apiName: name, args })),
  }) as LlmResponse
  return defined({ response, usage: readUsage(usage, USAGE), costUsd: costBeside(about.usage) })
}

const USAGE: UsageNames = [
  ['inputTokens', 'input_tokens'],
  ['outputTokens', 'output_tokens'],
  ['cachedInputTokens', 'input_token_details', 'cache_read'],
  ['cacheCreationInputTokens', 'input_token_details', 'cache_creation'],
  ['reasoningTokens', 'output_token_details', 'reasoning'],
]

/** What a gate says in the model's place. */
export function aiMessage(
  { AIMessage }: LcMessages,
  { id, content, refusal, toolCalls = [] }: LlmResponse,
): LcMessage {
  return new AIMessage(
    defined({
      id,
      content: content ?? refusal ?? '',
      tool_calls: toolCalls.map(({ toolCallId, apiName, args }) => ({
        id: toolCallId,
        name: apiName,
        args: args ?? {},
        type: 'tool_call',
      })),
    }),
  )
}

/** A message that a durable run has kept, which is JSON then, as LangChain writes it; whatever else as it is. */
export function revived({ AIMessage }: LcMessages, reply: unknown): unknown {
  const { lc, type, kwargs } = (reply ?? {}) as Loose
  return lc === 1 && type === 'constructor' && isRecord(kwargs) ? new AIMessage(kwargs as object) : reply
}
