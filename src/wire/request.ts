import type { LlmRequest, MessagePart } from '../hooks/values.ts'
import { jsonWithin } from '../internal/json-within.ts'
import { chat } from './chat-completions.ts'
import type { WireFormat } from './format.ts'
import { formatOfRequest, partReader } from './formats.ts'
import { generateContent } from './generate-content.ts'
import { interactions, isStep } from './interactions.ts'
import { type ChatMessage, type PartReader, partsOf, textMessage } from './parts.ts'
import { asCount, asList, asName, asObject, asObjects, asText, type Loose, present } from './reading.ts'
import { responses } from './responses.ts'

/** The parts of a request that the conventions keep apart. */
export interface RequestContent {
  readonly messages: readonly ChatMessage[]
  /** The same as JSON; undefined where that is surely more than `maxBytes`. May throw for what is no JSON. */
  messagesJson(maxBytes?: number): string | undefined
  readonly systemInstructions: readonly MessagePart[]
  readonly toolDefinitions: readonly Loose[]
}

/** A request of any format in the conventions' shape. */
export function requestContent(request: LlmRequest): RequestContent {
  const format = formatOfRequest(request) ?? chat
  const { messages: given, instructions } = format.fields(request)
  const read = partReader(format)
  const items = typeof given === 'string' || asObject(given) !== undefined ? [given] : asList(given)
  const converted = items.map((item) => convertedOf(item, format, read))
  return new ConvertedRequest(converted, partsOf(instructions, read), toolDefinitions(request, format))
}

class ConvertedRequest implements RequestContent {
  readonly systemInstructions: readonly MessagePart[]
  readonly toolDefinitions: readonly Loose[]
  readonly #converted: readonly Converted[]
  readonly messagesJson = (maxBytes = Number.POSITIVE_INFINITY) => joined(this.#converted, maxBytes)

  constructor(
    converted: readonly Converted[],
    systemInstructions: readonly MessagePart[],
    toolDefinitions: readonly Loose[],
  ) {
    this.#converted = converted
    this.systemInstructions = systemInstructions
    this.toolDefinitions = toolDefinitions
  }

  /** Asked for where the JSON does not do: of most requests that alone is written. */
  get messages(): readonly ChatMessage[] {
    return this.#converted.map(({ message }) => message)
  }
}

function joined(converted: readonly Converted[], maxBytes: number): string | undefined {
  // Added one to the other, and not joined: the engine makes one text of them when somebody reads it, which is when the
  // span is sent. Until then it refers to those that are kept with their messages.
  let whole = ''
  let left = maxBytes
  for (const item of converted) {
    const text = item.json(left)
    if (text === undefined) return undefined
    left -= text.length + 1
    whole += whole === '' ? text : `,${text}`
  }
  return `[${whole}]`
}

/** The tools that a request offers, in the conventions' shape. */
export function toolDefinitions(request: LlmRequest, format = formatOfRequest(request) ?? chat): Loose[] {
  return asObjects(format.fields(request).tools).map(toolDefinition)
}

/** Type and name always; of what an API adds, only what is sure to hold no key to somebody's server. */
function toolDefinition(tool: Loose): Loose {
  const { type = 'function', server_label } = tool
  const fn = asObject(tool.function) ?? asObject(tool.custom) ?? tool
  const { name = server_label ?? type, description } = fn
  const parameters =
    fn.parameters ?? fn.input_schema ?? fn.inputSchema ?? fn.parametersJsonSchema ?? fn.parameters_json_schema
  return present({ type, name, server_label, description: description ?? undefined, parameters })
}

/**
 * Converted messages by the object they came from: a conversation is sent again with every call, and converting
 * it each time would cost as much as the run is long. A message that was changed since is converted again.
 */
const known = new WeakMap<object, Converted>()

/** A message in the conventions' shape, with what of the original would show that it was changed since. */
class Converted {
  readonly message: ChatMessage
  readonly #content: unknown
  readonly #calls: unknown
  readonly #callCount: number
  #json: string | undefined

  constructor(message: ChatMessage, content?: unknown, calls?: unknown) {
    this.message = message
    this.#content = content
    this.#calls = calls
    this.#callCount = asList(calls).length
  }

  isOf({ content, tool_calls: calls }: Loose): boolean {
    return this.#content === content && this.#calls === calls && this.#callCount === asList(calls).length
  }

  /** Kept where the message is made of texts alone; objects in it may change without a trace. */
  json(maxBytes: number): string | undefined {
    if (this.#json !== undefined) return this.#json.length > maxBytes ? undefined : this.#json
    const isText = typeof this.#content === 'string' || this.#content === null
    const text = jsonWithin(this.message, maxBytes)
    if (isText) this.#json = text
    return text
  }
}

function convertedOf(value: unknown, format: WireFormat, read: PartReader): Converted {
  const message = asObject(value)
  if (message === undefined) {
    return new Converted(textMessage('user', asText(value) ?? JSON.stringify(value) ?? ''))
  }
  const before = known.get(message)
  if (before?.isOf(message)) return before
  const { content, parts, tool_calls: calls } = message
  const made = new Converted(ownerOf(message, format).message(message, read), content, calls)
  // Parts in a list may change inside without a trace; only texts are kept.
  if (!Array.isArray(content) && parts === undefined) known.set(message, made)
  return made
}

/** Conversations are handed from one API to another: a message that is plainly of another is read as such. */
function ownerOf(item: Loose, format: WireFormat): WireFormat {
  const { role, type, tool_calls, tool_call_id, parts } = item
  if (typeof role !== 'string' && type !== undefined) return isStep(item) ? interactions : responses
  if (tool_calls !== undefined || tool_call_id !== undefined) return chat
  return Array.isArray(parts) ? generateContent : format
}

/** How a request asks the model to answer. */
export interface Sampling {
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly maxTokens?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly seed?: number
  /** Only where it is not 1. */
  readonly choiceCount?: number
  readonly stream?: true
  readonly stopSequences?: readonly string[]
  readonly reasoningLevel?: string
  readonly previousResponseId?: string
  readonly outputType?: 'text' | 'json'
}

/** Sampling parameters under the names of all formats. */
export function samplingOf(request: LlmRequest): Sampling {
  // Google's APIs have them in an object of their own, its client in `config`.
  const r: Loose =
    asObject(request.generationConfig ?? request.generation_config) ?? asObject(request.config) ?? request
  const stop = r.stop ?? r.stop_sequences ?? r.stopSequences
  const choices = asCount(r.n ?? r.candidateCount)
  // Field by field: most requests name one or two, and this is on the way of every model call.
  const told: { -readonly [K in keyof Sampling]: Sampling[K] } = {}
  const temperature = asCount(r.temperature)
  if (temperature !== undefined) told.temperature = temperature
  const topP = asCount(r.top_p ?? r.topP)
  if (topP !== undefined) told.topP = topP
  const topK = asCount(r.top_k ?? r.topK)
  if (topK !== undefined) told.topK = topK
  const maxTokens = asCount(
    r.max_completion_tokens ?? r.max_output_tokens ?? r.max_tokens ?? r.maxOutputTokens ?? r.maxTokens,
  )
  if (maxTokens !== undefined) told.maxTokens = maxTokens
  const frequencyPenalty = asCount(r.frequency_penalty ?? r.frequencyPenalty)
  if (frequencyPenalty !== undefined) told.frequencyPenalty = frequencyPenalty
  const presencePenalty = asCount(r.presence_penalty ?? r.presencePenalty)
  if (presencePenalty !== undefined) told.presencePenalty = presencePenalty
  const seed = asCount(r.seed)
  if (seed !== undefined) told.seed = seed
  if (choices !== undefined && choices !== 1) told.choiceCount = choices
  if (request.stream === true) told.stream = true
  if (typeof stop === 'string') told.stopSequences = [stop]
  else if (Array.isArray(stop) && stop.length > 0) told.stopSequences = stop.map(String)
  const reasoningLevel = asName(r.reasoning_effort ?? asObject(r.reasoning)?.effort ?? r.thinking_level)
  if (reasoningLevel !== undefined) told.reasoningLevel = reasoningLevel
  const previousResponseId = asName(request.previous_response_id ?? request.previous_interaction_id)
  if (previousResponseId !== undefined) told.previousResponseId = previousResponseId
  const type = outputType(r) ?? (r === request ? undefined : outputType(request))
  if (type !== undefined) told.outputType = type
  return told
}

function outputType(request: Loose): Sampling['outputType'] {
  const format = asObject(request.response_format ?? asObject(request.text)?.format ?? request.responseFormat)
  const type =
    asName(format?.mime_type ?? format?.type) ??
    asName(request.responseMimeType ?? request.response_mime_type)
  if (type === undefined) return undefined
  return type.includes('json') ? 'json' : 'text'
}
