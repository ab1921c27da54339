import type {
  LlmMessage,
  LlmRequest,
  LlmResponse,
  MessagePart,
  ProviderToolCall,
  ToolCallRequest,
} from '../hooks/values.ts'
import { defined } from '../internal/objects.ts'
import { pieces } from './events.ts'
import type { Collector, HostedTool, WireFormat } from './format.ts'
import { countedUsage, countsOf, OWNER, writeError } from './google.ts'
import {
  byType,
  type ChatMessage,
  isMedia,
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
  exactArguments,
  joined,
  type LlmReading,
  type Loose,
  parseArguments,
  present,
  type UsageNames,
} from './reading.ts'

const USAGE: UsageNames = [
  ['inputTokens', 'total_input_tokens'],
  ['outputTokens', 'total_output_tokens'],
  ['cachedInputTokens', 'total_cached_tokens'],
  ['reasoningTokens', 'total_thought_tokens'],
]

const MEDIA = ['image', 'audio', 'video', 'document'] as const
/** Anthropic's parts have these types, too, and say in another field where the bytes are. */
const medium =
  (modality: string): PartReader =>
  ({ data, uri: url, mime_type: mimeType }) =>
    typeof (data ?? url) === 'string' ? mediaPart(modality, { data, url, mimeType }) : undefined
const part = byType({
  text: ({ text }) => textPart(text),
  ...Object.fromEntries(MEDIA.map((modality) => [modality, medium(modality)])),
})

/** Steps and contents that OpenAI's responses API has not. */
const OWN_ITEM =
  /^(user_input|model_output|thought|function_(call|result)|text|image|audio|video|document|(code_execution|url_context|google_search|google_maps|mcp_server_tool|retrieval|processing)_(call|result)|file_search_result)$/

/** Google's Interactions API, of Gemini's models and agents: the steps of a turn, whoever takes them. */
export const interactions: WireFormat = {
  name: 'interactions',
  route: /\/interactions$/,
  idPrefix: 'v1',
  isRequest: (request) => request.input !== undefined && !Array.isArray(request.messages) && isOwn(request),
  isReply: ({ object, steps, id, status }) =>
    object === 'interaction' ||
    (Array.isArray(steps) && asName(id) !== undefined && asName(status) !== undefined),
  isChunk: ({ event_type: type }) => /^(interaction|step)\./.test(asText(type) ?? ''),
  fields: ({ input, system_instruction, tools }) => ({
    messages: input,
    instructions: system_instruction,
    tools: asObjects(tools).map((tool) => (tool.type === 'function' ? tool : { name: tool.type, ...tool })),
  }),
  hosted: ({ tools }) => asObjects(tools).flatMap(hostedIn),
  message: convert,
  part,
  read,
  pieces: { of: ({ steps }) => asObjects(steps), put: (reply, steps) => ({ ...reply, steps }) },
  unmade: ({ status, id }) => (status === 'queued' || status === 'in_progress' ? asName(id) : undefined),
  collector: () => new StepCollector(),
  textOf: ({ delta }) => {
    const { type, text } = asObject(delta) ?? {}
    return type === 'text' ? asText(text) : undefined
  },
  write,
  writeError,
  events,
}

/** A request that says no more than `input` is read alike by OpenAI's responses API. */
function isOwn(request: Loose): boolean {
  const { input, agent, generation_config, system_instruction, previous_interaction_id } = request
  if ((agent ?? generation_config ?? system_instruction ?? previous_interaction_id) !== undefined) return true
  const items = asObject(input) === undefined ? asObjects(input) : [asObject(input) as Loose]
  return items.some(isStep)
}

/** Whether it is a step, or a content, and nothing of OpenAI's. */
export function isStep({ type, call_id, arguments: args, role }: Loose): boolean {
  const name = asText(type) ?? ''
  if (role !== undefined || !OWN_ITEM.test(name)) return false
  return name !== 'function_call' || (call_id === undefined && asObject(args) !== undefined)
}

function hostedIn({ type, name, allowed_tools }: Loose): HostedTool[] {
  const kind = asName(type) ?? 'function'
  // The calls of these are given to the caller.
  if (kind === 'function' || kind === 'computer_use') return []
  if (kind !== 'mcp_server') return [{ name: kind, identifier: OWNER }]
  const allowed = asObjects(allowed_tools).flatMap(({ tools }) =>
    asList(tools).flatMap((one) => asName(one) ?? []),
  )
  const identifier = asName(name) ?? OWNER
  return (allowed.length === 0 ? ['*'] : allowed).map((tool) => ({ name: tool, identifier }))
}

/** A step, or a content, which the user gave. */
function convert(item: Loose, reader: PartReader): ChatMessage {
  const type = asText(item.type) ?? ''
  switch (type) {
    case 'user_input':
      return { role: 'user', parts: partsOf(item.content, reader) }
    case 'model_output':
      return { role: 'assistant', parts: partsOf(item.content, reader) }
    case 'thought':
      return { role: 'assistant', parts: [reasoningPart(thought(item) ?? '')] }
    case 'function_call':
      return { role: 'assistant', parts: [toolCallPart(item.id, item.name, exactArguments(item.arguments))] }
    case 'function_result':
      return { role: 'tool', parts: [toolResultPart(item.call_id, resultOf(item.result, reader))] }
  }
  const [run, result] = [runOf(item), answerOf(item)]
  if (run !== undefined) return { role: 'assistant', parts: providerParts(run) }
  if (result !== undefined) return { role: 'assistant', parts: providerParts(result).slice(1) }
  const role = asText(item.role)
  if (role === undefined) return { role: 'user', parts: partsOf([item], reader) }
  return { role: role === 'model' ? 'assistant' : role, parts: partsOf(item.content, reader) }
}

/** A value, text, or contents as those of a message are. */
function resultOf(result: unknown, reader: PartReader): unknown {
  return Array.isArray(result) ? partsOf(result, reader) : result
}

function thought({ summary }: Loose): string | undefined {
  return joined(
    asObjects(summary).map(({ text }) => asText(text)),
    '\n',
  )
}

/** What Google ran: a search, code, a tool of an MCP server. */
function runOf({ type, id, name, server_name, arguments: args }: Loose): ProviderToolCall | undefined {
  const kind = asText(type) ?? ''
  if (!kind.endsWith('_call') || kind === 'function_call') return undefined
  const mcp = kind === 'mcp_server_tool_call'
  return {
    toolCallId: asText(id) ?? '',
    apiName: mcp ? (asText(name) ?? '') : kind.replace(/_call$/, ''),
    identifier: (mcp ? asName(server_name) : undefined) ?? OWNER,
    args: parseArguments(args),
  }
}

/** What came of it, which is a step of its own. */
function answerOf(step: Loose): ProviderToolCall | undefined {
  const kind = asText(step.type) ?? ''
  if (!kind.endsWith('_result') || kind === 'function_result') return undefined
  const success = step.is_error !== true
  return {
    ...(runOf({ ...step, type: kind.replace(/_result$/, '_call'), id: step.call_id }) as ProviderToolCall),
    args: {},
    ...(success ? { result: step.result } : { error: step.result }),
    success,
  }
}

function read(reply: Loose): LlmReading {
  const message = messageIn(asObjects(reply.steps))
  const usage = countedUsage(reply.usage, USAGE, 'total_tool_use_tokens')
  return {
    response: present<LlmResponse>({
      id: asName(reply.id),
      model: asName(reply.model) ?? asName(reply.agent),
      finishReasons: finishReasons(reply, message),
      ...message,
    }),
    ...(usage && { usage }),
  }
}

function messageIn(steps: readonly Loose[]): LlmMessage {
  const contents: Loose[] = []
  const reasoning: (string | undefined)[] = []
  const toolCalls: ToolCallRequest[] = []
  const runs: ProviderToolCall[] = []
  const parts: MessagePart[] = []
  for (const step of steps) {
    const [run, result] = [runOf(step), answerOf(step)]
    if (run !== undefined) runs.push(run)
    else if (result !== undefined) answer(runs, result)
    else if (step.type === 'thought') reasoning.push(thought(step))
    else if (step.type === 'function_call') toolCalls.push(toolCall(step))
    else if (step.type === 'model_output') {
      const said = asObjects(step.content)
      contents.push(...said)
      parts.push(...said.flatMap((item) => (item.type === 'text' ? [] : (part(item) ?? otherPart(item)))))
    } else if (step.type !== 'user_input') parts.push(otherPart(step))
  }
  return present<LlmMessage>({
    content: joined(contents.map(({ type, text }) => (type === 'text' ? asText(text) : undefined))),
    reasoning: joined(reasoning, '\n'),
    toolCalls,
    providerToolCalls: runs,
    parts,
  })
}

function toolCall({ id, name, arguments: args }: Loose): ToolCallRequest {
  return { toolCallId: asText(id) ?? '', apiName: asText(name) ?? '', ...argumentsOf(args) }
}

function answer(runs: ProviderToolCall[], result: ProviderToolCall): void {
  const at = runs.findLastIndex(
    ({ toolCallId, success }) => toolCallId === result.toolCallId && success === undefined,
  )
  const { apiName, identifier, args } = runs[at] ?? result
  runs[at < 0 ? runs.length : at] = { ...result, apiName, identifier, args }
}

/** The API has a status, not a finish reason; the convention's words are used for what they mean. */
function finishReasons({ status }: Loose, { toolCalls }: LlmMessage): string[] | undefined {
  switch (asName(status) ?? 'completed') {
    case 'completed':
      return [toolCalls === undefined ? 'stop' : 'tool_calls']
    case 'requires_action':
      return ['tool_calls']
    case 'incomplete':
      return ['length']
    case 'failed':
    case 'cancelled':
      return ['error']
    case 'in_progress':
    case 'queued':
    case 'requires_continuation':
      return undefined
    default:
      return [status as string]
  }
}

/** After which nothing more comes, unless the client goes on with a request of its own. */
const LAST_STATUSES = ['completed', 'requires_action', 'incomplete', 'failed', 'cancelled', 'budget_exceeded']

class StepCollector implements Collector {
  #top: Loose = {}
  readonly #steps = new Map<number, Loose>()
  ended = false

  push(event: Loose): void {
    const { event_type: type, interaction, status, usage } = event
    const index = asCount(event.index) ?? 0
    if (type === 'step.start') this.#steps.set(index, { ...asObject(event.step) })
    else if (type === 'step.delta') this.#grow(index, asObject(event.delta) ?? {})
    else if (type === 'interaction.status_update') this.#told(present({ status, usage }))
    else if (type === 'interaction.completed' || type === 'interaction.created') {
      this.#told(present({ ...asObject(interaction) }))
    } else if (type === 'error') this.#top = { ...this.#top, status: 'failed' }
  }

  #told(top: Loose): void {
    this.#top = { ...this.#top, ...top }
    this.ended = LAST_STATUSES.includes(asText(this.#top.status) ?? '')
  }

  #grow(index: number, { type, ...delta }: Loose): void {
    const step = this.#steps.get(index) ?? { type: 'model_output' }
    this.#steps.set(index, step)
    if (type === 'text' || MEDIA.some((one) => one === type)) {
      step.content = withText(asObjects(step.content), { type, ...delta })
    } else if (type === 'thought_summary') {
      step.summary = withText(asObjects(step.summary), asObject(delta.content) ?? {})
    } else if (type === 'arguments_delta') {
      // They are begun as an empty object, and come as text.
      const text = asText(delta.arguments) ?? asText(delta.partial_arguments) ?? ''
      step.arguments = (asText(step.arguments) ?? '') + text
    } else if (type === 'text_annotation_delta') {
      step.content = annotated(asObjects(step.content), asList(delta.annotations))
    } else Object.assign(step, delta)
  }

  reply(): Loose {
    const { steps, ...top } = this.#top
    const whole = asObjects(steps)
    const collected = [...this.#steps].sort(([a], [b]) => a - b).map(([, step]) => step)
    return {
      ...top,
      ...(!this.ended && { status: 'failed' }),
      steps: whole.length > 0 ? whole : collected,
    }
  }
}

/** Pieces of one text are one content. */
function withText(list: readonly Loose[], item: Loose): Loose[] {
  const last = list.at(-1)
  if (item.type !== 'text' || last?.type !== 'text') return [...list, item]
  return [...list.slice(0, -1), { ...last, text: (asText(last.text) ?? '') + (asText(item.text) ?? '') }]
}

/** Where in a text something is from is told behind the text. */
function annotated(list: readonly Loose[], annotations: readonly unknown[]): Loose[] {
  const last = list.at(-1)
  if (last === undefined) return []
  return [...list.slice(0, -1), { ...last, annotations: [...asList(last.annotations), ...annotations] }]
}

const WRITTEN_STATUSES: Readonly<Record<string, string>> = {
  stop: 'completed',
  tool_calls: 'requires_action',
  length: 'incomplete',
  error: 'failed',
}

function write({ response, usage }: LlmReading, request: LlmRequest): Loose {
  const { id = 'stand-in', model = asText(request.model), toolCalls } = response
  const finish = response.finishReasons?.[0] ?? (toolCalls === undefined ? 'stop' : 'tool_calls')
  const now = new Date().toISOString()
  return {
    id,
    object: 'interaction',
    status: Object.hasOwn(WRITTEN_STATUSES, finish) ? WRITTEN_STATUSES[finish] : finish,
    ...defined({ model, previous_interaction_id: asName(request.previous_interaction_id) }),
    created: now,
    updated: now,
    steps: writeSteps(response),
    ...defined({ usage: usage && countsOf(usage, USAGE, 'total_tokens') }),
  }
}

function writeSteps(message: LlmMessage): Loose[] {
  const { reasoning, content, refusal, toolCalls = [], providerToolCalls = [], parts = [] } = message
  const text = content ?? refusal
  const contents = [
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...parts.filter(isMedia).map(writeMedium),
  ]
  return [
    ...(reasoning === undefined ? [] : [{ type: 'thought', summary: [{ type: 'text', text: reasoning }] }]),
    ...providerToolCalls.flatMap(writeRun),
    ...(contents.length === 0 ? [] : [{ type: 'model_output', content: contents }]),
    ...parts.filter((one) => !isMedia(one)),
    ...toolCalls.map((call) => ({
      type: 'function_call',
      id: call.toolCallId,
      name: call.apiName,
      arguments: parseArguments(argumentsText(call)),
    })),
  ]
}

function writeMedium(given: MessagePart): Loose {
  const { modality, mime_type, content: data, uri, file_id } = given as Loose
  return { type: modality, ...defined({ mime_type, data, uri: uri ?? file_id }) }
}

function writeRun({
  toolCallId,
  apiName,
  identifier,
  args,
  result,
  error,
  success,
}: ProviderToolCall): Loose[] {
  const mcp = identifier !== OWNER
  const kind = mcp ? 'mcp_server_tool' : apiName
  const named = mcp ? { name: apiName, server_name: identifier } : {}
  const call = { type: `${kind}_call`, id: toolCallId, ...named, arguments: args }
  if (success === undefined) return [call]
  const failed = success ? {} : { is_error: true }
  return [call, { type: `${kind}_result`, call_id: toolCallId, ...named, ...failed, result: error ?? result }]
}

function events(reply: Loose): Loose[] {
  const { steps, usage, ...top } = reply
  const all = asObjects(steps).flatMap((step, index) => {
    const { begun, deltas } = inPieces(step)
    return [
      { event_type: 'step.start', index, step: begun },
      ...deltas.map((delta) => ({ event_type: 'step.delta', index, delta })),
      { event_type: 'step.stop', index },
    ]
  })
  return [
    { event_type: 'interaction.created', interaction: { ...top, status: 'in_progress' } },
    ...all,
    { event_type: 'interaction.completed', interaction: { ...top, ...defined({ usage }) } },
  ]
}

/** How a step begins, and what makes it longer. */
function inPieces(step: Loose): { begun: Loose; deltas: Loose[] } {
  const { content, summary, ...begun } = step
  switch (step.type) {
    case 'model_output':
      return { begun, deltas: asObjects(content).flatMap(contentPieces) }
    case 'thought':
      return {
        begun,
        deltas: asObjects(summary)
          .flatMap(contentPieces)
          .map((piece) => ({ type: 'thought_summary', content: piece })),
      }
    case 'function_call': {
      // Of a stream they are the model's own text.
      const text = asText(step.arguments) ?? JSON.stringify(step.arguments ?? {})
      const deltas = pieces(text).map((piece) => ({ type: 'arguments_delta', arguments: piece }))
      return { begun: { ...begun, arguments: {} }, deltas }
    }
    default:
      return { begun: step, deltas: [] }
  }
}

function contentPieces({ annotations, ...item }: Loose): Loose[] {
  const texts = item.type === 'text' ? pieces(item.text) : []
  const said = texts.length === 0 ? [item] : texts.map((text) => ({ ...item, text }))
  return annotations === undefined ? said : [...said, { type: 'text_annotation_delta', annotations }]
}
