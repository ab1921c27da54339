import type {
  LlmRequest,
  LlmResponse,
  MessagePart,
  ProviderToolCall,
  TokenUsage,
  ToolCallRequest,
} from '../hooks/values.ts'
import { defined, isRecord } from '../internal/objects.ts'
import { interleave, pieces } from './events.ts'
import type { Collector, HostedTool, WireFormat } from './format.ts'
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
  argumentsOf,
  argumentsText,
  asCount,
  asList,
  asName,
  asObject,
  asObjects,
  asText,
  conversationOf,
  exactArguments,
  joined,
  type LlmHead,
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
  ['cachedInputTokens', 'input_tokens_details', 'cached_tokens'],
  ['cacheCreationInputTokens', 'input_tokens_details', 'cache_write_tokens'],
  ['reasoningTokens', 'output_tokens_details', 'reasoning_tokens'],
]

const part = byType({
  input_text: (part) => textPart(part.text),
  output_text: (part) => textPart(part.text),
  input_image: (part) => mediaPart('image', { url: part.image_url, fileId: part.file_id }),
  input_file: ({ file_url: url, file_id: fileId, file_data: data, filename }) =>
    mediaPart('document', { url, fileId, data, filename }),
})

/**
 * Items of calls that OpenAI runs itself: in which fields the arguments are (one, or several of an object), and in
 * which the result.
 */
const PROVIDER_ITEMS: Readonly<Record<string, { args: string | readonly string[]; result?: string }>> = {
  web_search_call: { args: 'action' },
  file_search_call: { args: ['queries'], result: 'results' },
  code_interpreter_call: { args: ['code', 'container_id'], result: 'outputs' },
  image_generation_call: {
    args: ['revised_prompt', 'action', 'size', 'quality', 'background'],
    result: 'result',
  },
  tool_search_call: { args: 'arguments', result: 'tools' },
  mcp_call: { args: 'arguments', result: 'output' },
  mcp_list_tools: { args: [], result: 'tools' },
}
const OWNER = 'openai'

/** The responses API. */
export const responses: WireFormat = {
  name: 'responses',
  route: /\/responses$/,
  idPrefix: 'resp',
  isRequest: (request) => request.input !== undefined && !Array.isArray(request.messages),
  isReply: (reply) =>
    reply.object === 'response' || (Array.isArray(reply.output) && typeof reply.id === 'string'),
  isChunk: (chunk) => asText(chunk.type)?.startsWith('response.') === true,
  fields: ({ input, instructions, tools }) => ({ messages: input, instructions, tools }),
  hosted: ({ tools }) => asObjects(tools).flatMap(hostedIn),
  message: convert,
  part,
  read,
  pieces: { of: ({ output }) => asObjects(output), put: (reply, output) => ({ ...reply, output }) },
  unmade: ({ status, id }) => (status === 'queued' || status === 'in_progress' ? asName(id) : undefined),
  collector: () => new ResponseCollector(),
  textOf: ({ type, delta }) => (type === 'response.output_text.delta' ? asText(delta) : undefined),
  write,
  events,
}

/** Tools whose calls the caller is given. */
const CALLERS = /^(function|custom|namespace|local_shell|apply_patch|computer.*)$/

function hostedIn({ type, server_label, allowed_tools, execution, environment }: Loose): HostedTool[] {
  const kind = asText(type) ?? 'function'
  const local = kind === 'shell' && /^(local|undefined)$/.test(String(asObject(environment)?.type))
  if (CALLERS.test(kind) || execution === 'client' || local) return []
  if (kind !== 'mcp') {
    // Versions have names of their own, their calls have not.
    return [{ name: kind.replace(/^(web_search).*/, '$1'), identifier: OWNER }]
  }
  const identifier = asName(server_label) ?? OWNER
  const named = asList(asObject(allowed_tools)?.tool_names ?? allowed_tools).flatMap(
    (name) => asName(name) ?? [],
  )
  return (named.length === 0 ? ['*'] : named).map((name) => ({ name, identifier }))
}

/** Text, or pieces as those of a message are. */
function outputOf(output: unknown, read: PartReader): unknown {
  return Array.isArray(output) && asObjects(output).every(({ type }) => /^input_/.test(String(type)))
    ? partsOf(output, read)
    : output
}

/** An item: a message, or one that is none. */
function convert(item: Loose, read: PartReader): ChatMessage {
  const { type = 'message', role } = item
  if (type === 'message') {
    const parts = partsOf(item.content, read)
    return { role: asText(role) ?? 'user', parts }
  }
  const id = asName(item.call_id) ?? item.id
  if (isCall(item)) {
    const args = exactArguments(item.arguments ?? item.input)
    return { role: 'assistant', parts: [toolCallPart(id, item.name, args)] }
  }
  if (/_output$/.test(asText(type) ?? '')) {
    const gave = outputOf(item.output, read) ?? item.tools ?? item.result
    return { role: 'tool', parts: [toolResultPart(id, gave)] }
  }
  if (type === 'computer_call') {
    return {
      role: 'assistant',
      parts: [toolCallPart(id, 'computer', present(pick(item, ['action', 'actions'])))],
    }
  }
  const run = providerCall(item)
  if (run !== undefined) return { role: 'assistant', parts: providerParts(run) }
  const parts = type === 'reasoning' ? [reasoningPart(thought(item) ?? '')] : [otherPart(item)]
  return { role: asText(role) ?? 'assistant', parts }
}

function isCall({ type }: Loose): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}

function thought(item: Loose): string | undefined {
  return joined(
    asObjects([...asList(item.summary), ...asList(item.content)]).map((part) => asText(part.text)),
    '\n',
  )
}

/** Undefined for an item that is no such call, and for a search of tools that the caller is asked to make. */
function providerCall(item: Loose): ProviderToolCall | undefined {
  const type = asText(item.type) ?? ''
  if (!Object.hasOwn(PROVIDER_ITEMS, type) || item.execution === 'client') return undefined
  const { args: where, result: field = '' } = PROVIDER_ITEMS[type] as (typeof PROVIDER_ITEMS)[string]
  const given = typeof where === 'string' ? item[where] : present(pick(item, where))
  const { status, error, server_label } = item
  const failed = error !== undefined && error !== null
  const made = item[field] ?? undefined
  return {
    toolCallId: asName(item.call_id) ?? asText(item.id) ?? '',
    apiName: type === 'mcp_call' ? (asText(item.name) ?? '') : type.replace(/_call$/, ''),
    identifier: asName(server_label) ?? OWNER,
    args: parseArguments(given),
    ...(made !== undefined && {
      result:
        type === 'image_generation_call'
          ? mediaPart('image', { data: made, mimeType: `image/${asText(item.output_format) ?? 'png'}` })
          : made,
    }),
    ...successOf(failed, status ?? (type.startsWith('mcp') ? 'completed' : undefined)),
    ...(failed && { error }),
  }
}

function pick(item: Loose, fields: readonly string[]): Loose {
  return Object.fromEntries(fields.map((field) => [field, item[field] ?? undefined]))
}

function successOf(failed: boolean, status: unknown): { success?: boolean } {
  if (failed || status === 'failed' || status === 'incomplete') return { success: false }
  return status === 'completed' ? { success: true } : {}
}

/** Reads what was said when somebody asks for it: most calls are only counted, and arguments are costly to parse. */
class ResponseReading implements LlmReading {
  readonly head: LlmHead
  declare readonly usage?: TokenUsage
  declare readonly reportedCostUsd?: number
  readonly #reply: Loose
  #response: LlmResponse | undefined

  constructor(reply: Loose, calls: boolean) {
    this.#reply = reply
    this.head = headOf(reply, calls)
    const usage = readUsage(reply.usage, USAGE)
    if (usage !== undefined) this.usage = usage
    const reportedCostUsd = costBeside(reply.usage)
    if (reportedCostUsd !== undefined) this.reportedCostUsd = reportedCostUsd
  }

  get response(): LlmResponse {
    this.#response ??= readWhole(this.#reply).response
    return this.#response
  }
}

function headOf(reply: Loose, calls: boolean): LlmHead {
  return present<LlmHead>({
    id: asName(reply.id),
    model: asName(reply.model),
    finishReasons: finishReasons(reply, calls),
    conversationId: conversationOf(reply),
  })
}

/** Whoever looks for what the provider ran reads all of a reply; where there is none of it, nothing has to be read. */
function read(reply: Loose): LlmReading {
  let calls = false
  for (const item of asList(reply.output)) {
    if (!isRecord(item)) continue
    if (isCall(item)) calls = true
    else if (item.type !== 'message' && item.type !== 'reasoning') return readWhole(reply)
  }
  return new ResponseReading(reply, calls)
}

function readWhole(reply: Loose): LlmReading {
  const texts: string[] = []
  const reasoning: (string | undefined)[] = []
  const refusals: string[] = []
  const toolCalls: ToolCallRequest[] = []
  const runs: ProviderToolCall[] = []
  const parts: MessagePart[] = []
  for (const item of asObjects(reply.output)) {
    const run = providerCall(item)
    if (run !== undefined) runs.push(run)
    else if (item.type === 'tool_search_output') answerSearch(runs, item)
    else if (item.type === 'reasoning') reasoning.push(thought(item))
    else if (isCall(item)) toolCalls.push(toolCall(item))
    else if (item.type === 'message' && item.role !== 'user') {
      for (const { text, refusal } of asObjects(item.content)) {
        if (typeof text === 'string') texts.push(text)
        if (typeof refusal === 'string') refusals.push(refusal)
      }
    } else parts.push(otherPart(item))
  }
  const usage = readUsage(reply.usage, USAGE)
  const reportedCostUsd = costBeside(reply.usage)
  return {
    response: present<LlmResponse>({
      ...headOf(reply, toolCalls.length > 0),
      content: joined(texts),
      reasoning: joined(reasoning, '\n'),
      refusal: joined(refusals),
      toolCalls,
      providerToolCalls: runs,
      parts,
    }),
    ...defined({ usage, reportedCostUsd }),
  }
}

function toolCall(item: Loose): ToolCallRequest {
  return {
    toolCallId: asText(item.call_id) ?? asText(item.id) ?? '',
    apiName: asText(item.name) ?? '',
    ...argumentsOf(item.arguments ?? item.input),
  }
}

/** What a search found is an item of its own, behind the call and without its id. */
function answerSearch(runs: ProviderToolCall[], item: Loose): void {
  const at = runs.findLastIndex(({ apiName, result }) => apiName === 'tool_search' && result === undefined)
  const call = runs[at] ?? providerCall({ ...item, type: 'tool_search_call' })
  if (call !== undefined) runs[at < 0 ? runs.length : at] = { ...call, result: item.tools }
}

/** The API has a status, not a finish reason; the convention's words are used for what they mean. */
export function finishReasons(reply: Loose, calls: boolean): string[] | undefined {
  const why = asName(asObject(reply.incomplete_details)?.reason)
  if (why !== undefined) return [why === 'max_output_tokens' ? 'length' : why]
  switch (reply.status ?? 'completed') {
    case 'completed':
      return [reply.object === 'response.compaction' ? 'compaction' : calls ? 'tool_calls' : 'stop']
    case 'incomplete':
      return ['length']
    case 'failed':
    case 'cancelled':
      return ['error']
    default:
      return undefined
  }
}

const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']

/** Events that make an item longer: the field, or the list, the event's index into it, and the part's field. */
const GROWING: Readonly<Record<string, readonly [string, index?: string, field?: string]>> = {
  'response.output_text.delta': ['content', 'content_index', 'text'],
  'response.refusal.delta': ['content', 'content_index', 'refusal'],
  'response.reasoning_text.delta': ['content', 'content_index', 'text'],
  'response.reasoning_summary_text.delta': ['summary', 'summary_index', 'text'],
  'response.function_call_arguments.delta': ['arguments'],
  'response.mcp_call_arguments.delta': ['arguments'],
  'response.custom_tool_call_input.delta': ['input'],
  'response.code_interpreter_call_code.delta': ['code'],
}

/** The stream's last event holds the whole response; until then the items are kept as far as they came. */
class ResponseCollector implements Collector {
  #response: Loose = {}
  #items = new Map<number, Loose>()
  ended = false

  push(event: Loose): void {
    const type = asText(event.type) ?? ''
    // Text without a place is a message of its own.
    const index = asCount(event.output_index) ?? -1
    const item = asObject(event.item)
    this.#response = asObject(event.response) ?? this.#response
    if (LAST_EVENTS.includes(type)) this.ended = true
    else if (item !== undefined) this.#items.set(Math.max(index, 0), { ...item })
    else if (Object.hasOwn(GROWING, type)) this.#grow(GROWING[type] as (typeof GROWING)[string], event, index)
  }

  #grow([key, place, field]: (typeof GROWING)[string], event: Loose, index: number): void {
    const delta = asText(event.delta) ?? ''
    const item = this.#items.get(index) ?? { type: 'message', role: 'assistant' }
    this.#items.set(index, item)
    if (place === undefined || field === undefined) {
      item[key] = (asText(item[key]) ?? '') + delta
      return
    }
    const list = [...asList(item[key])]
    // Whatever place a server names, no more than one is added.
    const named = asCount(event[place]) ?? 0
    const at = Math.max(0, Math.min(Math.trunc(named), list.length))
    const part = asObject(list[at])
    list[at] = { ...part, [field]: (asText(part?.[field]) ?? '') + delta }
    item[key] = list
  }

  reply(): Loose {
    const response = this.ended ? this.#response : { ...this.#response, status: 'failed' }
    if (asList(response.output).length > 0) return response
    return { ...response, output: [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item) }
  }
}

const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

function write({ response, usage }: LlmReading, request: LlmRequest): Loose {
  const { id = 'stand-in', conversationId } = response
  const finish = response.finishReasons?.[0] ?? 'stop'
  const why = Object.hasOwn(INCOMPLETE, finish) ? INCOMPLETE[finish] : undefined
  const status = why !== undefined ? 'incomplete' : finish === 'error' ? 'failed' : 'completed'
  const createdAt = Math.floor(Date.now() / 1000)
  return {
    id,
    object: finish === 'compaction' ? 'response.compaction' : 'response',
    created_at: createdAt,
    error: null,
    incomplete_details: why === undefined ? null : { reason: why },
    ...(conversationId !== undefined && { conversation: { id: conversationId } }),
    ...present({ model: response.model ?? asText(request.model) }),
    ...Object.fromEntries(Object.entries(ECHOED).map(([key, value]) => [key, request[key] ?? value])),
    usage: usage
      ? {
          ...writeUsage({ cachedInputTokens: 0, reasoningTokens: 0, ...usage }, USAGE),
          total_tokens: usage.inputTokens + usage.outputTokens,
        }
      : null,
    status,
    completed_at: createdAt,
    output: writeItems(response, id),
  }
}

/** What a response says of its request, and what it says where the request does not. */
const ECHOED: Readonly<Loose> = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
}

/** Reasoning, what the provider ran, then the message, then the calls: the order in which OpenAI gives them. */
function writeItems(response: LlmResponse, id: string): Loose[] {
  const { reasoning, content, refusal, toolCalls = [], providerToolCalls = [], parts = [] } = response
  const said = [
    ...(content === undefined ? [] : [{ type: 'output_text', annotations: [], logprobs: [], text: content }]),
    ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
  ]
  const thoughts = reasoning === undefined ? [] : [{ type: 'summary_text', text: reasoning }]
  return [
    ...thoughts.map((part) => ({ id: `rs_${id}`, type: 'reasoning', summary: [part] })),
    ...providerToolCalls.flatMap(writeProviderCall),
    ...(said.length === 0
      ? []
      : [{ id: `msg_${id}`, type: 'message', status: 'completed', content: said, role: 'assistant' }]),
    ...parts,
    ...toolCalls.map((call, index) => ({
      id: `fc_${id}_${index}`,
      type: 'function_call',
      status: 'completed',
      arguments: argumentsText(call),
      call_id: call.toolCallId,
      name: call.apiName,
    })),
  ]
}

/** A call of a tool that OpenAI does not have is one of an MCP server. */
function writeProviderCall(call: ProviderToolCall): Loose[] {
  const { toolCallId, apiName, identifier, args, result, success, error } = call
  const known = [apiName, `${apiName}_call`].find(
    (name) => name !== 'mcp_call' && Object.hasOwn(PROVIDER_ITEMS, name),
  )
  const own = known !== undefined && (identifier === OWNER || known === 'mcp_list_tools')
  const type = own ? known : 'mcp_call'
  const { args: where, result: field } = PROVIDER_ITEMS[type] as (typeof PROVIDER_ITEMS)[string]
  const item = {
    id: toolCallId,
    type,
    ...(type === 'mcp_call' && { name: apiName }),
    ...(type.startsWith('mcp') && { server_label: identifier, error: error ?? null }),
    ...(success !== undefined && { status: success ? 'completed' : 'failed' }),
    ...(typeof where === 'string'
      ? { [where]: type === 'mcp_call' ? argumentsText({ args }) : args }
      : asObject(args)),
  }
  if (result === undefined || field === undefined) return [item]
  if (type === 'image_generation_call') {
    const { content, mime_type } = asObject(result) ?? {}
    return [{ ...item, output_format: (asText(mime_type) ?? '').replace('image/', ''), [field]: content }]
  }
  if (type !== 'tool_search_call') return [{ ...item, [field]: result }]
  const found = {
    type: 'tool_search_output',
    execution: 'server',
    call_id: null,
    status: 'completed',
    tools: result,
  }
  return [{ ...item, execution: 'server', call_id: null }, found]
}

function events(reply: Loose, _request: LlmRequest, interleaved = false): Loose[] {
  const { output, ...rest } = reply
  const started = { ...rest, status: 'in_progress', completed_at: null, usage: null, output: [] }
  const items = asObjects(output).map((item, index) => ({ item, events: itemEvents(item, index) }))
  const isCall = ({ item }: (typeof items)[number]) => interleaved && item.type === 'function_call'
  const all: Loose[] = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...items.flatMap((one) => (isCall(one) ? [] : one.events)),
    ...interleave(items.filter(isCall).map(({ events }) => events)),
    { type: `response.${reply.status}`, response: reply },
  ]
  return all.map((event, index) => ({ ...event, sequence_number: index }))
}

const EMPTY: Readonly<Record<string, Loose>> = {
  reasoning: { summary: [] },
  message: { content: [] },
  function_call: { arguments: '' },
}

function itemEvents(item: Loose, outputIndex: number): Loose[] {
  const at = { item_id: item.id, output_index: outputIndex }
  const begun = {
    ...item,
    ...('status' in item && { status: 'in_progress' }),
    ...EMPTY[asText(item.type) ?? ''],
  }
  return [
    { type: 'response.output_item.added', output_index: outputIndex, item: begun },
    ...contentEvents(item, at),
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
}

function contentEvents(item: Loose, at: Loose): Loose[] {
  if (item.type === 'function_call') {
    const type = 'response.function_call_arguments'
    return [
      ...pieces(item.arguments).map((delta) => ({ type: `${type}.delta`, ...at, delta })),
      { type: `${type}.done`, ...at, name: item.name, arguments: item.arguments },
    ]
  }
  const reasoning = item.type === 'reasoning'
  const parts = reasoning ? item.summary : item.type === 'message' ? item.content : []
  const partType = reasoning ? 'response.reasoning_summary_part' : 'response.content_part'
  return asObjects(parts).flatMap((part, index) => {
    const field = part.type === 'refusal' ? 'refusal' : 'text'
    const textType = reasoning
      ? 'response.reasoning_summary_text'
      : field === 'refusal'
        ? 'response.refusal'
        : 'response.output_text'
    const where = { ...at, [reasoning ? 'summary_index' : 'content_index']: index }
    const extra = textType === 'response.output_text' ? { logprobs: [] } : {}
    return [
      { type: `${partType}.added`, ...where, part: { ...part, [field]: '' } },
      ...pieces(part[field]).map((delta) => ({ type: `${textType}.delta`, ...where, delta, ...extra })),
      { type: `${textType}.done`, ...where, [field]: part[field], ...extra },
      { type: `${partType}.done`, ...where, part },
    ]
  })
}
