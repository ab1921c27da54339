import type { LlmResponse, TokenUsage } from '../../hooks/index.ts'
import { safeStringify } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { besideTotals, readMessageUsage } from '../../wire/anthropic-messages.ts'
import { readChatUsage } from '../../wire/chat-completions.ts'
import {
  asCount,
  asName,
  asObject,
  asObjects,
  asText,
  keptForAnHour,
  type LlmReading,
  type Loose,
  readUsage,
  type UsageNames,
  withThoughts,
} from '../../wire/reading.ts'
import { finishReasons } from '../../wire/responses.ts'
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
export function thoughtIn(block: Loose): string | undefined {
  const { type, thinking, reasoning, reasoningText, summary } = block
  if (type === 'text') return block.thought === true ? (asText(block.text) ?? '') : undefined
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

/** What LangChain tells callbacks of a reply: the message, and what is known of how it was made. */
export interface LcGeneration {
  readonly message?: LcMessage
  readonly text?: unknown
  readonly generationInfo?: Loose
  /** In how many pieces a stream came. */
  readonly pieces?: number
}

export function generationIn(output: unknown): LcGeneration | undefined {
  const { generations } = asObject(output) ?? {}
  return (generations as readonly (readonly LcGeneration[])[] | undefined)?.[0]?.[0]
}

export function readGeneration(given: unknown): LlmReading {
  const { message, text } = given as LcGeneration
  return readReply(message ?? { content: text ?? '' }, given as LcGeneration)
}

/**
 * What the model said. Where LangChain made more of it, as of structured output, the message in it counts.
 *
 * @param told what is known beside the message.
 */
export function readReply(reply: unknown, told: LcGeneration = {}): LlmReading {
  const message = messageIn(reply)
  const { id, response_metadata, additional_kwargs } = message
  const calls = [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])]
  const about: Loose = { ...told.generationInfo, ...additional_kwargs, ...response_metadata }
  // Bedrock's stream tells it in its event.
  const ends = [about, asObject(about.messageStop) ?? {}]
  const finish = ends
    .flatMap((end) => ENDED_BY.map((name) => asName(end[name])))
    .find((reason) => reason !== undefined)
  const ofResponse = about.object === 'response' ? finishReasons(about, calls.length > 0) : undefined
  const refusal = asName(about.refusal)
  const content = textOf(message)
  const response = defined({
    id,
    model: asName(about.model_name) ?? asName(about.model),
    finishReasons: finish === undefined ? ofResponse : [finish],
    content: content === '' && (calls.length > 0 || refusal !== undefined) ? undefined : content,
    refusal,
    reasoning: thoughtsOf(message),
    toolCalls:
      calls.length === 0
        ? undefined
        : calls.map(({ id: toolCallId = '', name: apiName = '', args }) => ({ toolCallId, apiName, args })),
  }) as LlmResponse
  return defined({
    response,
    usage: usageOf(message, about, told.pieces),
    reportedCostUsd: costBeside(about.usage),
  })
}

export function messageIn(reply: unknown): LcMessage {
  const { messages } = reply as { messages?: unknown }
  return (Array.isArray(messages) ? messages[0] : reply) as LcMessage
}

/** By LangChain's counts, and by those of the provider what a package leaves out: Groq's of a stream all, else what was cached. */
function usageOf(
  { usage_metadata: counts }: LcMessage,
  about: Loose,
  pieces: number | undefined,
): TokenUsage | undefined {
  const { x_groq, metadata, model_provider: from } = about
  // Bedrock's stream tells it in its event.
  const usage = about.usage ?? asObject(metadata)?.usage
  const anthropic = readMessageUsage(usage)
  if (besideTotals(usage).length > 0) return anthropic
  const raw = readChatUsage(usage) ?? readChatUsage(asObject(x_groq)?.usage)
  const added = readUsage(counts, USAGE)
  if (added === undefined) return raw
  const counted = from === 'google-genai' ? cachedOnce(added, pieces) : added
  const own = { ...counted, ...defined({ cacheCreation1hInputTokens: keptForAnHour(usage) }) }
  const total = counts?.total_tokens
  const reasoningTokens = own.reasoningTokens ?? raw?.reasoningTokens ?? anthropic?.reasoningTokens
  const thought = reasoningTokens ?? asLeft(total, own)
  return { ...defined({ reasoningTokens }), ...raw, ...withThoughts(own, total, undefined, thought) }
}

/** `@langchain/google-genai` adds what was read from the cache once more with each piece of a stream. */
function cachedOnce(usage: TokenUsage, pieces = 1): TokenUsage {
  const { inputTokens, cachedInputTokens: added } = usage
  if (added === undefined) return usage
  const once = added % pieces === 0 ? added / pieces : added
  return { ...usage, cachedInputTokens: Math.min(once, inputTokens) }
}

/** Of what is in the total alone nothing else is known: with Gemini, these are its thoughts. */
function asLeft(total: unknown, { inputTokens, outputTokens }: TokenUsage): number {
  return (asCount(total) ?? 0) - inputTokens - outputTokens
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
  const calls = toolCalls.map(({ toolCallId, apiName, args = {} }) => ({
    id: toolCallId,
    name: apiName,
    args,
  }))
  const isUnread = ({ args }: { args: unknown }) => typeof args === 'string'
  const unread = calls.filter(isUnread).map((call) => ({ ...call, type: 'invalid_tool_call' }))
  return new AIMessage(
    defined({
      id,
      content: content ?? refusal ?? '',
      tool_calls: calls.filter((call) => !isUnread(call)).map((call) => ({ ...call, type: 'tool_call' })),
      invalid_tool_calls: unread.length === 0 ? undefined : unread,
    }),
  )
}

/** A message that a durable run has kept, which is JSON then, as LangChain writes it; whatever else as it is. */
export function revived({ AIMessage }: LcMessages, reply: unknown): unknown {
  const { lc, type, kwargs } = (reply ?? {}) as Loose
  return lc === 1 && type === 'constructor' && isRecord(kwargs) ? new AIMessage(kwargs as object) : reply
}
