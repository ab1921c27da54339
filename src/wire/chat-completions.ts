import type { LlmMessage, LlmRequest, LlmResponse, TokenUsage, ToolCallRequest } from '../hooks/values.ts'
import { defined } from '../internal/objects.ts'
import { interleave, pieces } from './events.ts'
import type { Collector, WireFormat } from './format.ts'
import {
  byType,
  type ChatMessage,
  isMedia,
  mediaPart,
  type PartReader,
  partsOf,
  reasoningPart,
  refusalPart,
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
  type LlmHead,
  type LlmReading,
  type Loose,
  present,
  readUsage,
  type UsageNames,
  withThoughts,
  writeUsage,
} from './reading.ts'
import { costBeside } from './told-cost.ts'

const USAGE: UsageNames = [
  ['inputTokens', 'prompt_tokens'],
  ['outputTokens', 'completion_tokens'],
  ['cachedInputTokens', 'prompt_tokens_details', 'cached_tokens'],
  ['cacheCreationInputTokens', 'prompt_tokens_details', 'cache_write_tokens'],
  ['reasoningTokens', 'completion_tokens_details', 'reasoning_tokens'],
]

const url = (value: unknown) => asText(value) ?? asText(asObject(value)?.url)

const part = byType({
  text: (part) => textPart(part.text),
  refusal: (part) => refusalPart(part.refusal),
  // Mistral's: a list of texts.
  thinking: (part) => reasoningPart(asText(part.thinking) ?? textIn(part.thinking)),
  image_url: (part) => mediaPart('image', { url: url(part.image_url) }),
  video_url: (part) => mediaPart('video', { url: url(part.video_url) }),
  audio_url: (part) => mediaPart('audio', { url: url(part.audio_url) }),
  document_url: (part) => mediaPart('document', { url: url(part.document_url) }),
  input_audio: ({ input_audio: audio }) => {
    const { data, format } = asObject(audio) ?? { data: audio }
    return mediaPart('audio', { data, ...(typeof format === 'string' && { mimeType: `audio/${format}` }) })
  },
  file: ({ file }) => {
    const { file_id: fileId, file_data: data, filename } = asObject(file) ?? {}
    return file === undefined ? undefined : mediaPart('document', { fileId, data, filename })
  },
})

/** The chat completions API, legacy completions and the many servers that speak it. */
export const chat: WireFormat = {
  name: 'chat',
  route: /\/chat\/completions$/,
  idPrefix: 'chatcmpl',
  endMarker: '[DONE]',
  isRequest: (request) => request.messages !== undefined || typeof request.prompt === 'string',
  isReply: (reply) => Array.isArray(reply.choices),
  isChunk: (chunk) => Array.isArray(chunk.choices),
  // What an MCP server asks of a model has a `systemPrompt`, else the shape of chat completions.
  fields: ({ messages, prompt, systemPrompt, tools }) => ({
    messages: messages ?? prompt,
    instructions: systemPrompt,
    tools,
  }),
  hosted: ({ web_search_options: search }) =>
    asObject(search) === undefined ? [] : [{ name: 'web_search', identifier: 'openai' }],
  message: convert,
  part,
  read: (reply) => new ChatReading(reply),
  pieces: {
    of: ({ choices }) => asObjects(choices).slice(0, 1),
    put: (reply, pieces) => ({ ...reply, choices: [...pieces, ...asList(reply.choices).slice(1)] }),
    single: true,
  },
  collector: () => new ChatCollector(),
  textOf: ({ choices }) => {
    const first = asObjects(choices).find(({ index = 0 }) => index === 0)
    return asText(asObject(first?.delta)?.content)
  },
  write,
  events,
}

/** A message that has a role, of whichever API. */
function convert(message: Loose, read: PartReader): ChatMessage {
  const { role, content, name, reasoning_content, reasoning, refusal, tool_call_id, tool_calls } = message
  const named = typeof name === 'string' ? { name } : {}
  if (role === 'tool' && !(Array.isArray(content) && tool_call_id === undefined)) {
    return { role, parts: [toolResultPart(tool_call_id, content)], ...named }
  }
  const thought = asText(reasoning_content) ?? asText(reasoning)
  const parts = [
    ...(thought === undefined ? [] : [reasoningPart(thought)]),
    ...partsOf(content, read),
    ...(typeof refusal === 'string' ? [refusalPart(refusal)] : []),
    ...asObjects(tool_calls).flatMap((call) => {
      const fn = functionOf(call)
      return fn === undefined
        ? []
        : [toolCallPart(call.id, fn.name, exactArguments(fn.arguments ?? fn.input))]
    }),
  ]
  return { role: asText(role) ?? 'user', parts, ...named }
}

function functionOf(call: Loose): Loose | undefined {
  return asObject(call.function) ?? asObject(call.custom)
}

function textIn(content: unknown): string | undefined {
  return joined(asObjects(content).map((part) => asText(part.text)))
}

/** Reads what was said when somebody asks for it: most calls are only counted, and arguments are costly to parse. */
class ChatReading implements LlmReading {
  readonly head: LlmHead
  declare readonly usage?: TokenUsage
  declare readonly reportedCostUsd?: number
  readonly #choices: readonly unknown[]
  #response: LlmResponse | undefined

  constructor(reply: Loose) {
    this.#choices = asList(reply.choices)
    const head: { -readonly [K in keyof LlmHead]: LlmHead[K] } = {}
    const id = asName(reply.id)
    const model = asName(reply.model)
    const finishReasons = finishReasonsOf(this.#choices)
    if (id !== undefined) head.id = id
    if (model !== undefined) head.model = model
    if (finishReasons !== undefined) head.finishReasons = finishReasons
    this.head = head
    // Groq says it beside the last chunk.
    const usage = readChatUsage(reply.usage ?? asObject(reply.x_groq)?.usage, model)
    if (usage !== undefined) this.usage = usage
    const reportedCostUsd = costBeside(reply.usage)
    if (reportedCostUsd !== undefined) this.reportedCostUsd = reportedCostUsd
  }

  get response(): LlmResponse {
    if (this.#response !== undefined) return this.#response
    const [first, ...others] = this.#choices
    this.#response = {
      ...this.head,
      ...readChoice(first),
      ...present({ alternatives: others.map(readChoice) }),
    }
    return this.#response
  }
}

/** @param model of the reply. */
export function readChatUsage(counts: unknown, model?: string): TokenUsage | undefined {
  const usage = readUsage(counts, USAGE)
  return usage && withThoughts(usage, asObject(counts)?.total_tokens, model)
}

/** One for each choice. A choice without a reason, beside others that have one, was cut off. */
function finishReasonsOf(choices: readonly unknown[]): string[] | undefined {
  const reasons: string[] = []
  let told = false
  for (const choice of choices) {
    const reason = asName(asObject(choice)?.finish_reason)
    told ||= reason !== undefined
    reasons.push(reason ?? 'error')
  }
  return told ? reasons : undefined
}

function readChoice(value: unknown): LlmMessage {
  const choice = asObject(value) ?? {}
  const message = asObject(choice.message) ?? {}
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call, audio, images } = message
  const list = asObjects(content)
  const { data, id, transcript } = asObject(audio) ?? {}
  const outdated = asName(asObject(function_call)?.name) === undefined ? [] : [{ function: function_call }]
  const others = list.filter(({ type }) => type !== 'text' && type !== 'thinking')
  return present<LlmMessage>({
    content: asText(content) ?? textIn(list.filter(({ type }) => type === 'text')) ?? asText(choice.text),
    reasoning:
      asText(reasoning_content) ??
      asText(reasoning) ??
      joined(
        asObjects(message.reasoning_details).map(({ text, summary }) => asText(text) ?? asText(summary)),
      ) ??
      joined(list.map(({ thinking }) => asText(thinking) ?? textIn(thinking))),
    refusal: asText(refusal),
    toolCalls: (asList(tool_calls).length > 0 ? asObjects(tool_calls) : outdated).flatMap(toolCall),
    parts: [
      ...(asName(data) === undefined ? [] : [{ ...mediaPart('audio', { data }), id, transcript }]),
      ...partsOf([...others, ...asObjects(images)], part),
    ],
  })
}

function toolCall(call: Loose): ToolCallRequest[] {
  const fn = functionOf(call)
  const apiName = asText(fn?.name)
  if (apiName === undefined) return []
  return [{ toolCallId: asText(call.id) ?? '', apiName, ...argumentsOf(fn?.arguments ?? fn?.input) }]
}

interface OpenChoice {
  readonly message: Loose
  readonly calls: Map<number, Loose>
  finish: string | undefined
  logprobs: unknown
}

/** What there is of a call before its first piece. A custom tool's input is no JSON. */
const opened = (isCustom: boolean): Loose =>
  isCustom
    ? { id: '', type: 'custom', custom: { name: '', input: '' } }
    : { id: '', type: 'function', function: { name: '', arguments: '' } }

/** Parallel calls are told apart by their index, never by their order of arrival. */
class ChatCollector implements Collector {
  readonly #top: Loose = {}
  readonly #choices = new Map<number, OpenChoice>()

  /** Once for each piece of a reply: loops and no copies, because models send hundreds of them. */
  push(chunk: Loose): void {
    const top = this.#top
    for (const key in chunk) {
      // Azure begins with a chunk that has no id and no model.
      if (key !== 'choices' && key !== 'usage' && key !== 'x_groq') top[key] ||= chunk[key]
    }
    const { usage = null, x_groq } = chunk
    const counted = asObject(usage ?? asObject(x_groq)?.usage)
    if (counted !== undefined) top.usage = counted
    for (const item of asList(chunk.choices)) {
      const choice = asObject(item)
      if (choice !== undefined) this.#choice(choice)
    }
  }

  #choice({ index: position, finish_reason, delta: piece, text, logprobs }: Loose): void {
    const index = asCount(position) ?? 0
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = {
        message: { role: 'assistant', content: null },
        calls: new Map(),
        finish: undefined,
        logprobs: undefined,
      }
      this.#choices.set(index, choice)
    }
    // Some compatible servers say '' for a reason of no name.
    if (typeof finish_reason === 'string') choice.finish = finish_reason || (choice.finish ?? '')
    choice.logprobs = grown(choice.logprobs, logprobs)
    const { message } = choice
    const delta = asObject(piece) ?? { content: text }
    for (const key in delta) {
      if (key === 'tool_calls') for (const call of asObjects(delta[key])) this.#call(choice, call)
      else if (key !== 'role') message[key] = grown(message[key], delta[key])
    }
  }

  /** Beside the known fields, what compatible servers add and want back, like Gemini's `extra_content`. */
  #call({ calls }: OpenChoice, { index: position, id, type: _type, ...piece }: Loose): void {
    const index = asCount(position) ?? 0
    const { function: fn, custom, ...added } = piece
    const call = calls.get(index) ?? opened(custom !== undefined)
    const [said, more] = [asObject(call.function ?? call.custom) ?? {}, asObject(fn ?? custom)]
    const text = call.type === 'custom' ? 'input' : 'arguments'
    call.id ||= asText(id) ?? ''
    said.name ||= asText(more?.name) ?? ''
    said[text] = `${said[text]}${asText(more?.[text]) ?? ''}`
    calls.set(index, Object.assign(call, added))
  }

  get ended(): boolean {
    for (const { finish } of this.#choices.values()) if (finish === undefined) return false
    return this.#choices.size > 0
  }

  reply(): Loose {
    const inOrder = [...this.#choices].sort(([a], [b]) => a - b)
    const choices = inOrder.map(([index, { message, calls, finish = 'error', logprobs }]) => {
      const tool_calls = [...calls].sort(([a], [b]) => a - b).map(([, call]) => call)
      return {
        index,
        finish_reason: finish,
        message: tool_calls.length > 0 ? { ...message, tool_calls } : message,
        ...defined({ logprobs }),
      }
    })
    return { ...this.#top, object: 'chat.completion', choices }
  }
}

/** A field of a message and one more piece of it: texts and lists grow, objects do so field by field. */
function grown(had: unknown, piece: unknown): unknown {
  if (piece === undefined || piece === null) return had
  if (typeof had === 'string' && typeof piece === 'string') return had + piece
  if (Array.isArray(piece) || Array.isArray(had)) return [...blocks(had), ...blocks(piece)]
  const more = asObject(piece)
  if (more === undefined) return piece
  // An object of its own: the chunk belongs to its reader.
  const fields = { ...asObject(had) }
  for (const key in more)
    fields[key] = key === 'id' || key === 'type' ? more[key] : (grown(fields[key], more[key]) ?? more[key])
  return fields
}

function blocks(content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [textBlock(content)] : asList(content)
}

function textBlock(text: string): Loose {
  return { type: 'text', text }
}

function write({ response, usage }: LlmReading, request: LlmRequest): Loose {
  const { id = 'stand-in', model = asText(request.model), finishReasons = [], alternatives = [] } = response
  const legacy = request.messages === undefined && request.prompt !== undefined
  return {
    id,
    object: legacy ? 'text_completion' : 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    ...defined({ model }),
    service_tier: 'default',
    system_fingerprint: 'fp_scripted',
    choices: [response, ...alternatives].map((message, index) => ({
      index,
      ...(legacy ? { text: message.content ?? '' } : { message: writeMessage(message) }),
      logprobs: null,
      finish_reason: finishReasons[index] ?? (message.toolCalls?.length ? 'tool_calls' : 'stop'),
    })),
    ...(usage && {
      usage: { ...writeUsage(usage, USAGE), total_tokens: usage.inputTokens + usage.outputTokens },
    }),
  }
}

function writeMessage({ content, reasoning, refusal, toolCalls = [], parts = [] }: LlmMessage): Loose {
  const audio = parts.find(({ type, modality }) => type === 'blob' && modality === 'audio')
  const images = parts.filter((part) => isMedia(part) && part.modality === 'image')
  const others = parts.filter((part) => part !== audio && !images.includes(part))
  const list = [...(content === undefined ? [] : [textBlock(content)]), ...others]
  return {
    role: 'assistant',
    content: others.length > 0 ? list : (content ?? null),
    refusal: refusal ?? null,
    ...defined({ reasoning_content: reasoning }),
    ...(audio && {
      audio: { id: audio.id, data: audio.content, transcript: audio.transcript, expires_at: 0 },
    }),
    ...(images.length > 0 && {
      images: images.map((part) => ({
        type: 'image_url',
        image_url: { url: part.uri ?? `data:${part.mime_type ?? 'image/png'};base64,${part.content}` },
      })),
    }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map((call) => ({
        id: call.toolCallId,
        type: 'function',
        function: { name: call.apiName, arguments: argumentsText(call) },
      })),
    }),
  }
}

function events(reply: Loose, request: LlmRequest, interleaved = false): Loose[] {
  const { choices, usage, ...top } = reply
  if (top.object === 'text_completion') return [reply]
  const envelope = { ...top, object: 'chat.completion.chunk' }
  const includeUsage = asObject(request.stream_options)?.include_usage === true
  const chunks = asObjects(choices).flatMap((choice) => {
    const { content, reasoning_content, tool_calls, role, refusal, ...others } =
      asObject(choice.message) ?? {}
    const chunk = (delta: Loose, finish: unknown = null, logprobs: unknown = null) => ({
      ...envelope,
      choices: [{ index: choice.index, delta, logprobs, finish_reason: finish }],
      ...(includeUsage && { usage: null }),
    })
    return [
      chunk(
        {
          role,
          content: typeof content === 'string' ? '' : content,
          refusal,
          ...(reasoning_content !== undefined && { reasoning_content: '' }),
          ...others,
        },
        null,
        choice.logprobs,
      ),
      ...pieces(reasoning_content).map((piece) => chunk({ reasoning_content: piece })),
      ...pieces(content).map((piece) => chunk({ content: piece })),
      ...callDeltas(asObjects(tool_calls), interleaved).map((delta) => chunk({ tool_calls: [delta] })),
      chunk({}, choice.finish_reason),
    ]
  })
  return [...chunks, ...(includeUsage && usage ? [{ ...envelope, choices: [], usage }] : [])]
}

function callDeltas(calls: readonly Loose[], interleaved: boolean): Loose[] {
  const perCall = calls.map((call, index) => {
    const [of, text] = call.type === 'custom' ? ['custom', 'input'] : ['function', 'arguments']
    const said = asObject(call[of])
    return [
      { ...call, index, [of]: { ...said, [text]: '' } },
      ...pieces(said?.[text]).map((piece) => ({ index, [of]: { [text]: piece } })),
    ]
  })
  return interleaved ? interleave(perCall) : perCall.flat()
}
