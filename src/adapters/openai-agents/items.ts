import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { readChatUsage } from '../../wire/chat-completions.ts'
import type { WireFormat } from '../../wire/format.ts'
import {
  asList,
  asName,
  asObject,
  asObjects,
  asText,
  type LlmReading,
  type Loose,
  present,
  readLater,
} from '../../wire/reading.ts'
import { responses } from '../../wire/responses.ts'
import { rewritten, sameJson } from '../../wire/rewrite.ts'
import type { Item, ModelRequest, ModelResponse } from './sdk.ts'
import { fromWire, toWire } from './words.ts'

/**
 * What a request asks, in the words of the Responses API. The SDK copies the conversation for each call, and nothing of
 * the copies before is known again: its items are put into other words for those who read them, and for nobody else.
 */
export function requestToWire(request: ModelRequest, model: string, stream: boolean): LlmRequest {
  const {
    systemInstructions,
    input,
    tools,
    handoffs,
    modelSettings = {},
    previousResponseId,
    conversationId,
    prompt,
  } = request
  const { temperature, topP, maxTokens, frequencyPenalty, presencePenalty, toolChoice, reasoning } =
    modelSettings
  const wire = present<Loose>({
    model,
    instructions: asName(systemInstructions),
    prompt,
    input,
    tools: [...asList(tools).map(toolToWire), ...asObjects(handoffs).map(handoffToWire)],
    temperature,
    top_p: topP,
    max_output_tokens: maxTokens,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
    tool_choice: toolChoice,
    reasoning,
    previous_response_id: previousResponseId,
    conversation: conversationId,
    stream: stream || undefined,
  })
  if (Array.isArray(wire.input)) readLater(wire, 'input', () => (input as readonly Item[]).map(toWire))
  return wire
}

export function toolToWire(tool: unknown): unknown {
  if (!isRecord(tool) || tool.type !== 'hosted_tool') return tool
  return { type: tool.name, ...(isRecord(tool.providerData) && tool.providerData) }
}

/** The model is offered it as a tool like any other. */
export function handoffToWire({
  toolName,
  toolDescription,
  inputJsonSchema,
  strictJsonSchema,
}: Loose): Loose {
  return defined({
    type: 'function',
    name: toolName,
    description: toolDescription,
    parameters: inputJsonSchema,
    strict: strictJsonSchema,
  })
}

/** A reply in the words of the Responses API. */
export function responseToWire({ output, usage, responseId, providerData }: ModelResponse): Loose {
  const model = asText(providerData?.model) ?? modelBehind(output)
  return present<Loose>({
    id: responseId,
    object: 'response',
    status: asText(providerData?.status) ?? 'completed',
    ...cutOff(providerData),
    model,
    output: asList(output).flatMap((item) => (isRecord(item) ? [toWire(item)] : [])),
    usage: usageToWire(usage, providerData?.usage, model),
  })
}

const CUT_OFF: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
  'content-filter': 'content_filter',
}

/** Of chat completions and of the AI SDK's models the SDK takes a reply that was cut off for one that is whole. */
function cutOff({ choices, finishReason }: Loose = {}): Loose {
  const said = asObjects(choices)[0]?.finish_reason ?? asObject(finishReason)?.unified ?? finishReason
  const reason = CUT_OFF[asText(said) ?? '']
  return reason === undefined ? {} : { status: 'incomplete', incomplete_details: { reason } }
}

/** What a streamed reply says of itself on its way, and its end does not. */
export function saidOnWay({ type, event }: Item, before: Loose | undefined): Loose | undefined {
  const { model, choices, finishReason } = type === 'model' ? (asObject(event) ?? {}) : {}
  const isLast = asText(asObjects(choices)[0]?.finish_reason) !== undefined
  const said = defined({ model: asName(model), finishReason, choices: isLast ? choices : undefined })
  return Object.keys(said).length === 0 ? before : { ...before, ...said }
}

/** A model of the AI SDK (`aisdk()`) names itself in each item: `anthropic.messages:claude-sonnet-4-5`. */
function modelBehind(output: unknown): string | undefined {
  const [first] = asObjects(asObjects(output).map(({ providerData }) => providerData))
  return /^[^:]+:(.+)$/.exec(asText(first?.model) ?? '')?.[1]
}

/** The SDK's counts, and the cost that a provider may say beside its own. */
function usageToWire(usage: unknown, raw: unknown, model: string | undefined): Loose | undefined {
  if (!isRecord(usage)) return undefined
  const { inputTokens, outputTokens, inputTokensDetails, outputTokensDetails } = usage
  // Of what chat completions count, the SDK keeps a part.
  const chat = readChatUsage(raw, model)
  const written = chat?.cacheCreationInputTokens
  const thought = chat?.reasoningTokens
  return present({
    ...asObject(raw),
    input_tokens: inputTokens,
    output_tokens: chat?.outputTokens ?? outputTokens,
    input_tokens_details: { ...detail(inputTokensDetails), ...defined({ cache_write_tokens: written }) },
    output_tokens_details: { ...detail(outputTokensDetails), ...defined({ reasoning_tokens: thought }) },
  })
}

/** A list with one entry for each request that was made. */
function detail(details: unknown): Loose | undefined {
  const [first] = Array.isArray(details) ? asObjects(details) : asObjects([details])
  return first
}

export function readResponse(reply: ModelResponse): LlmReading {
  return responses.read(responseToWire(reply))
}

const NO_USAGE = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  inputTokensDetails: [],
  outputTokensDetails: [],
}

/**
 * A reply of the SDK that says what a gate put in the model's place. No server knows it: what is asked after it, and what is compacted,
 * goes on from the reply before, and OpenAI refuses a conversation in which the id of an item stands twice.
 */
export function responseOf(message: LlmResponse, asked: LlmRequest): ModelResponse {
  const output = asObjects(responses.write({ response: message }, asked).output)
  const items = output.map(({ id, ...item }) =>
    fromWire(message.id === undefined ? item : { id, ...item }, output),
  )
  return {
    usage: NO_USAGE,
    output: items,
    ...defined({ responseId: message.id ?? asName(asked.previous_response_id) }),
  }
}

/** The SDK's replies, so that one that a gate changed is put together of the items that it came as. */
const replies: WireFormat = {
  ...responses,
  isReply: ({ output }) => Array.isArray(output),
  read: (reply) => readResponse(reply as unknown as ModelResponse),
  pieces: { of: ({ output }) => asObjects(output), put: (reply, output) => ({ ...reply, output }) },
  write: ({ response }, asked) => ({ ...responseOf(response, asked) }),
}

/** The model's reply with what a gate changed in it. */
export function changedReply(given: ModelResponse, message: LlmResponse, asked: LlmRequest): ModelResponse {
  const before = readResponse(given).response
  const made = rewritten(replies, given, message, asked) as unknown as ModelResponse
  const again = [
    ...(sameJson(before.toolCalls, message.toolCalls) ? [] : CALLS_AGAIN),
    ...(before.reasoning === message.reasoning ? [] : THOUGHTS_AGAIN),
  ]
  const output = made.output.map((item) =>
    saidOnce(item, given.output.includes(item) ? again : [...again, ...TEXT_AGAIN]),
  )
  const { providerData } = made
  return { ...made, output, ...(isRecord(providerData) && { providerData: headOf(providerData) }) }
}

/** Where models put once more what their items say; of chat completions each text holds all that stood beside it. */
const CALLS_AGAIN = ['tool_calls', 'function_call', 'function']
const THOUGHTS_AGAIN = [
  ...['content', 'summary', 'rawContent'],
  ...['reasoning', 'reasoning_content', 'reasoning_details', 'thinking_blocks', 'provider_specific_fields'],
]
const TEXT_AGAIN = ['annotations', 'citations', 'logprobs', 'audio', 'content', 'refusal']

function saidOnce(item: Item, again: readonly string[]): Item {
  const { content, rawContent, providerData, ...rest } = item
  if (again.length === 0) return item
  const own = (of: Loose) => defined({ ...of, providerData: withoutKeys(of.providerData, again) })
  return {
    ...own({ ...rest, providerData }),
    ...(content !== undefined && {
      content: Array.isArray(content) ? content.map((one) => (isRecord(one) ? own(one) : one)) : content,
    }),
    ...(rawContent !== undefined && {
      rawContent: again.includes('rawContent') ? asObjects(content).map(rawThought) : rawContent,
    }),
  }
}

/** The place that is sent back in chat completions. */
function rawThought({ text }: Loose): Loose {
  return { type: 'reasoning_text', text }
}

function withoutKeys(value: unknown, keys: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutKeys(one, keys))
  if (!isRecord(value)) return value
  const left = Object.entries(value).filter(([key]) => !keys.includes(key))
  return Object.fromEntries(left.map(([key, one]) => [key, withoutKeys(one, keys)]))
}

/** The whole of the provider's reply is there, which says what the gate took away: what is about it stays. */
const HEAD = new Set([
  ...['id', 'object', 'model', 'status', 'created_at', 'created', 'service_tier', 'system_fingerprint'],
  ...['error', 'incomplete_details', 'conversation', 'previous_response_id', 'usage'],
])

function headOf(reply: Loose): Loose {
  return Object.fromEntries(Object.entries(reply).filter(([key]) => HEAD.has(key)))
}
