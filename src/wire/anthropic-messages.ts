import type { LlmRequest, LlmResponse, MessagePart, ProviderToolCall, TokenUsage } from '../hooks/values.ts'
import { defined } from '../internal/objects.ts'
import { toolsOfServer } from './anthropic-mcp.ts'
import { pieces } from './events.ts'
import type { Collector, WireFormat } from './format.ts'
import {
  byType,
  type ChatMessage,
  mediaPart,
  otherPart,
  type PartReader,
  partsOf,
  providerParts,
  reasoningPart,
  textPart,
  toolCallPart,
  toolResultPart,
} from './parts.ts'
import {
  argumentsText,
  asCount,
  asList,
  asName,
  asObject,
  asObjects,
  asText,
  joined,
  type LlmReading,
  type Loose,
  parseArguments,
  present,
  readUsage,
  type UsageNames,
  writeUsage,
} from './reading.ts'
import { costBeside } from './told-cost.ts'

const USAGE: UsageNames = [
  ['inputTokens', 'input_tokens'],
  ['outputTokens', 'output_tokens'],
  ['cachedInputTokens', 'cache_read_input_tokens'],
  ['cacheCreationInputTokens', 'cache_creation_input_tokens'],
  ['cacheCreation1hInputTokens', 'cache_creation', 'ephemeral_1h_input_tokens'],
  ['reasoningTokens', 'output_tokens_details', 'thinking_tokens'],
]
const OWNER = 'anthropic'

const known = byType({
  text: (part) => textPart(part.text),
  thinking: (part) => reasoningPart(part.thinking),
  tool_use: (part) => toolCallPart(part.id, part.name, part.input),
  tool_result: (part) => toolResultPart(part.tool_use_id ?? part.toolUseId, part.content),
  image: (part) => sourcePart('image', part),
  document: (part) => sourcePart('document', part),
  container_upload: (part) => mediaPart('document', { fileId: part.file_id }),
})

/** The calls that Anthropic ran, and their results, have names of their own. */
const part: PartReader = (block) => {
  const told = known(block)
  if (told !== undefined) return told
  if (isRun(block)) return providerParts(runOf(block))
  return isResult(block) ? providerParts(answered(undefined, block)).slice(1) : undefined
}

/** Tools whose calls the caller is given; a set of tools is of a server, which is named as well. */
const CALLERS = /^(custom|bash|text_editor|computer|browser|memory|mcp_toolset)/

/** The messages API of Anthropic. */
export const messages: WireFormat = {
  name: 'messages',
  route: /\/v1\/messages$/,
  idPrefix: 'msg',
  isRequest: (request) =>
    Array.isArray(request.messages) &&
    (request.system !== undefined || asObjects(request.tools).some((tool) => 'input_schema' in tool)),
  isReply: (reply) => reply.type === 'message' && Array.isArray(reply.content),
  isChunk: (chunk) => /^(message|content_block)_/.test(asText(chunk.type) ?? ''),
  fields: ({ messages, system, tools }) => ({ messages, instructions: system, tools }),
  hosted: ({ tools, mcp_servers: servers }) => [
    ...asObjects(tools).flatMap(({ type, name }) =>
      CALLERS.test(asText(type) ?? 'custom')
        ? []
        : [{ name: asName(name) ?? String(type), identifier: OWNER }],
    ),
    ...asObjects(servers).flatMap((server) => toolsOfServer(server, asObjects(tools))),
  ],
  message: ({ role, content }, read): ChatMessage => ({
    role: asText(role) ?? 'user',
    parts: partsOf(content, read),
  }),
  part,
  read,
  pieces: { of: ({ content }) => asObjects(content), put: (reply, content) => ({ ...reply, content }) },
  collector: () => new MessageCollector(),
  textOf: (event) => asText(asObject(event.delta)?.text),
  write,
  writeError: ({ type, message }) => ({ type: 'error', error: { type, message } }),
  events,
}

function sourcePart(modality: string, { source, type, title: filename }: Loose): MessagePart | undefined {
  if (source === undefined) return undefined
  const { media_type: mimeType, data, url, file_id: fileId, ...rest } = asObject(source) ?? {}
  if (rest.type === 'text') return textPart(data)
  if (rest.type === 'content') return otherPart({ type, ...rest })
  return mediaPart(modality, { data, url, fileId, mimeType, filename })
}

const isRun = ({ type }: Loose) => type === 'server_tool_use' || type === 'mcp_tool_use'
const isResult = ({ type }: Loose) => /_tool_result$/.test(asText(type) ?? '')

function runOf(block: Loose): ProviderToolCall {
  return {
    toolCallId: asText(block.id) ?? '',
    apiName: asText(block.name) ?? '',
    identifier: asName(block.server_name) ?? OWNER,
    args: parseArguments(block.input),
  }
}

/** A result of a call in an earlier message names the tool by its type alone. */
function answered(run: ProviderToolCall | undefined, block: Loose): ProviderToolCall {
  const { content, is_error, tool_use_id: id, type } = block
  const failed = is_error === true || /_error$/.test(asText(asObject(content)?.type) ?? '')
  const name = (asText(type) ?? '').replace(/_tool_result$/, '')
  return {
    ...(run ?? runOf({ id, name })),
    ...(failed ? { error: content } : { result: content }),
    success: !failed,
  }
}

function read(reply: Loose): LlmReading {
  const blocks = asObjects(reply.content)
  const texts = (type: 'text' | 'thinking') =>
    joined(blocks.filter((block) => block.type === type).map((block) => asText(block[type]) ?? ''))
  const runs: ProviderToolCall[] = blocks.filter(isRun).map(runOf)
  for (const block of blocks.filter(isResult)) {
    const at = runs.findIndex(({ toolCallId }) => toolCallId === block.tool_use_id)
    runs[at < 0 ? runs.length : at] = answered(runs[at], block)
  }
  const stop = asName(reply.stop_reason)
  const usage = readMessageUsage(reply.usage)
  const reportedCostUsd = costBeside(reply.usage)
  return {
    response: present<LlmResponse>({
      id: asName(reply.id),
      model: asName(reply.model),
      finishReasons: stop === undefined ? undefined : [stop],
      content: texts('text'),
      reasoning: texts('thinking'),
      toolCalls: blocks
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({
          toolCallId: asText(id) ?? '',
          apiName: asText(name) ?? '',
          args: parseArguments(input),
        })),
      providerToolCalls: runs,
      parts: blocks
        .filter((block) => !SAID.includes(block.type) && !isRun(block) && !isResult(block))
        .map(otherPart),
    }),
    ...defined({ usage, reportedCostUsd }),
  }
}

const SAID: readonly unknown[] = ['text', 'thinking', 'tool_use']

/** Anthropic counts cached tokens apart; the conventions count them as part of the input. */
export function readMessageUsage(value: unknown): TokenUsage | undefined {
  const usage = readUsage(value, USAGE)
  if (usage === undefined) return undefined
  const sum: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = { ...usage }
  for (const beside of besideTotals(value)) {
    const more = readUsage(beside, USAGE)
    for (const [field] of USAGE) if (more?.[field] !== undefined) sum[field] = (sum[field] ?? 0) + more[field]
  }
  sum.inputTokens += cachedTokens(sum)
  return sum
}

/** What is paid and stands in no total: compacting the conversation on the way, and asking a model for advice. */
export function besideTotals(usage: unknown): Loose[] {
  return asObjects(asObject(usage)?.iterations).filter(
    ({ type }) => type === 'compaction' || type === 'advisor_message',
  )
}

function cachedTokens({ cachedInputTokens = 0, cacheCreationInputTokens = 0 }: TokenUsage): number {
  return cachedInputTokens + cacheCreationInputTokens
}

/** As a stream counts it: what its last event says none of (null, by some servers) is what the first one said. */
export function laterUsage(before: unknown, later: unknown): Loose {
  const told = Object.entries(asObject(later) ?? {}).filter(([, count]) => count !== null)
  return { ...asObject(before), ...Object.fromEntries(told) }
}

/** Blocks by index; what is counted stands in the first and the last event. */
class MessageCollector implements Collector {
  #message: Loose = {}
  #end: Loose = {}
  readonly #blocks = new Map<number, Loose>()
  ended = false

  push(event: Loose): void {
    const index = asCount(event.index) ?? 0
    if (event.type === 'message_start') this.#message = { ...asObject(event.message) }
    else if (event.type === 'content_block_start') this.#begin(index, { ...asObject(event.content_block) })
    else if (event.type === 'content_block_delta') this.#grow(index, asObject(event.delta) ?? {})
    else if (event.type === 'message_delta') {
      const { type: _type, delta, usage, ...beside } = event
      this.#end = { ...this.#end, ...beside, ...asObject(delta) }
      this.#message.usage = laterUsage(this.#message.usage, usage)
    }
    this.ended ||= event.type === 'message_stop' || asName(this.#end.stop_reason) !== undefined
  }

  /** Where another model takes over, the block says so: the message began in the name of the one that was asked. */
  #begin(index: number, block: Loose): void {
    this.#blocks.set(index, block)
    const model = block.type === 'fallback' ? asName(asObject(block.to)?.model) : undefined
    if (model !== undefined) this.#message.model = model
  }

  /** `text`, `thinking` and `signature` grow; a call's arguments come as pieces of JSON. */
  #grow(index: number, { type: _type, citation, partial_json: json, ...delta }: Loose): void {
    const block = this.#blocks.get(index)
    if (block === undefined) return
    if (typeof json === 'string') block.input = (asText(block.input) ?? '') + json
    if (citation !== undefined) block.citations = [...asList(block.citations), citation]
    for (const [field, piece] of Object.entries(delta)) {
      if (typeof piece === 'string') block[field] = (asText(block[field]) ?? '') + piece
    }
  }

  reply(): Loose {
    const content = [...this.#blocks]
      .sort(([a], [b]) => a - b)
      .map(([, block]) => ('input' in block ? { ...block, input: parseArguments(block.input) } : block))
    const cut = this.ended ? {} : { stop_reason: 'error' }
    return { type: 'message', role: 'assistant', ...this.#message, content, ...this.#end, ...cut }
  }
}

/** The words of chat completions; any other is taken as Anthropic's own. */
const STOPS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

function write({ response, usage }: LlmReading, request: LlmRequest): Loose {
  const { id = 'stand-in', model = asText(request.model), toolCalls = [] } = response
  const reason = response.finishReasons?.[0] ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop')
  return {
    id,
    type: 'message',
    role: 'assistant',
    ...defined({ model }),
    content: writeBlocks(response),
    stop_reason: Object.hasOwn(STOPS, reason) ? STOPS[reason] : reason,
    stop_sequence: null,
    usage: usage
      ? writeUsage({ ...usage, inputTokens: usage.inputTokens - cachedTokens(usage) }, USAGE)
      : { input_tokens: 0, output_tokens: 0 },
  }
}

function writeBlocks(response: LlmResponse): Loose[] {
  const { reasoning, content, refusal, toolCalls = [], providerToolCalls = [], parts = [] } = response
  const text = content ?? refusal
  return [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
    ...providerToolCalls.flatMap(writeRun),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...parts,
    ...toolCalls.map((call) => ({
      type: 'tool_use',
      id: call.toolCallId,
      name: call.apiName,
      input: parseArguments(argumentsText(call)),
    })),
  ]
}

function writeRun({
  toolCallId: id,
  apiName: name,
  identifier,
  args,
  ...outcome
}: ProviderToolCall): Loose[] {
  const own = identifier === OWNER
  const asked = own
    ? { type: 'server_tool_use', id, name, input: args }
    : { type: 'mcp_tool_use', id, name, server_name: identifier, input: args }
  const content = outcome.error ?? outcome.result
  if (content === undefined) return [asked]
  // All ways to search tools have results of one type.
  const type = own ? `${name.replace(/^tool_search_tool_.*/, 'tool_search')}_tool_result` : 'mcp_tool_result'
  return [asked, { type, tool_use_id: id, content, ...(!own && { is_error: outcome.success === false }) }]
}

function events(reply: Loose): Loose[] {
  const { content, stop_reason, stop_sequence, usage, ...message } = reply
  const { output_tokens, ...input } = asObject(usage) ?? {}
  const { container, stop_details, context_management, input_transformations } = message
  return [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...input, output_tokens: 1 },
      },
    },
    ...asObjects(content).flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: begun(block) },
      ...deltas(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      // What is not said again here, clients take for undone.
      delta: { stop_reason, stop_sequence, ...defined({ container, stop_details }) },
      usage,
      ...defined({ context_management, input_transformations }),
    },
    { type: 'message_stop' },
  ]
}

function begun(block: Loose): Loose {
  const empty = { ...block, ...EMPTY[asText(block.type) ?? ''] }
  return block.type === 'text' && Array.isArray(block.citations) ? { ...empty, citations: [] } : empty
}

const EMPTY: Readonly<Record<string, Loose>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
  server_tool_use: { input: {} },
  mcp_tool_use: { input: {} },
  compaction: { content: null },
}

function deltas(block: Loose): Loose[] {
  if (block.type === 'text') {
    return [
      ...asList(block.citations).map((citation) => ({ type: 'citations_delta', citation })),
      ...pieces(block.text).map((text) => ({ type: 'text_delta', text })),
    ]
  }
  if (block.type === 'thinking') {
    return [
      ...pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: block.signature },
    ]
  }
  if (block.type === 'compaction') {
    const { content, encrypted_content } = block
    return [{ type: 'compaction_delta', content, ...defined({ encrypted_content }) }]
  }
  if (!('input' in block)) return []
  return pieces(JSON.stringify(block.input)).map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }))
}
