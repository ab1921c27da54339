import type { LlmRequest, LlmResponse, ProviderToolCall, TokenUsage } from '../hooks/values.ts'
import { defined } from '../internal/objects.ts'
import { besideTotals, readMessageUsage } from './anthropic-messages.ts'
import { pieces } from './events.ts'
import type { Collector, WireFormat } from './format.ts'
import {
  byType,
  isMedia,
  mediaPart,
  modalityOf,
  otherPart,
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
  asName,
  asObject,
  asObjects,
  asText,
  joined,
  keptForAnHour,
  type LlmReading,
  type Loose,
  parseArguments,
  present,
  readUsage,
  type UsageNames,
  withThoughts,
  writeUsage,
} from './reading.ts'
import { costOfModelReply } from './told-cost.ts'

/** Versions 3 and 4 of the specification. */
const USAGE: UsageNames = [
  ['inputTokens', 'inputTokens', 'total'],
  ['outputTokens', 'outputTokens', 'total'],
  ['cachedInputTokens', 'inputTokens', 'cacheRead'],
  ['cacheCreationInputTokens', 'inputTokens', 'cacheWrite'],
  ['reasoningTokens', 'outputTokens', 'reasoning'],
]
const USAGE_V2: UsageNames = [
  ['inputTokens', 'inputTokens'],
  ['outputTokens', 'outputTokens'],
  ['cachedInputTokens', 'cachedInputTokens'],
  ['reasoningTokens', 'reasoningTokens'],
]
const OWNER = 'provider'

/** In version 4 the data say themselves what they are. */
const medium = ({ mediaType: mimeType, data, image, url, filename }: Loose) => {
  if (data === undefined && image === undefined && url === undefined) return undefined
  const told = asObject(data)
  if (told?.type === 'text') return textPart(told.text)
  const [fileId] = Object.values(asObject(told?.reference) ?? {})
  const source = told?.type === undefined ? { data: data ?? image, url } : { data: told.data, url: told.url }
  return mediaPart(modalityOf(mimeType), { ...source, fileId, mimeType, filename })
}

const part = byType({
  text: (part) => textPart(part.text),
  reasoning: (part) => reasoningPart(part.text),
  file: medium,
  image: medium,
  'reasoning-file': medium,
  // Anthropic's stream begins with what stands beside all of it, which the provider hands on as a part of it.
  custom: ({ kind }) => (kind === 'anthropic.message_start' ? [] : undefined),
  'tool-call': (part) =>
    part.providerExecuted === true
      ? providerParts(runOf(part))
      : toolCallPart(part.toolCallId, part.toolName, parseArguments(part.input)),
  'tool-result': ({ toolCallId, output, result }) =>
    toolResultPart(toolCallId, asObject(output)?.value ?? output ?? result),
})

/** What the AI SDK's models are given and give: versions 2 to 4 of its LanguageModel. */
export const languageModel: WireFormat = {
  name: 'languageModel',
  idPrefix: 'aitxt',
  isRequest: ({ prompt, messages }) =>
    asObjects(prompt).some(({ role }) => role !== undefined) ||
    asObjects(messages).some(({ content }) => asObjects(content).some(isToolPart)),
  isReply: (reply) => Array.isArray(reply.content) && reply.finishReason !== undefined,
  isChunk: ({ type }) =>
    /^(stream-start|response-metadata|(text|reasoning|tool-input)-(start|delta)|tool-call|finish)$/.test(
      asText(type) ?? '',
    ),
  fields: ({ prompt, messages, instructions, system, tools }) => ({
    messages: prompt ?? messages,
    instructions: instructions ?? system,
    tools,
  }),
  message: ({ role, content }, read) => ({ role: asText(role) ?? 'user', parts: partsOf(content, read) }),
  part,
  read,
  pieces: { of: ({ content }) => asObjects(content), put: (reply, content) => ({ ...reply, content }) },
  collector: () => new PartCollector(),
  textOf: ({ type, delta, text }) => (type === 'text-delta' ? (asText(delta) ?? asText(text)) : undefined),
  write,
  events,
}

const isToolPart = ({ type }: Loose) => type === 'tool-call' || type === 'tool-result'

function runOf(part: Loose): ProviderToolCall {
  return {
    toolCallId: asText(part.toolCallId) ?? '',
    apiName: asText(part.toolName) ?? '',
    identifier: serverOf(part) ?? OWNER,
    args: parseArguments(part.input),
  }
}

/** The label of the MCP server that has the tool, where the provider reached one. */
function serverOf({ providerMetadata, result }: Loose): string | undefined {
  const { serverName } = asObject(asObject(providerMetadata)?.anthropic) ?? {}
  return asName(serverName) ?? asName(asObject(result)?.serverLabel)
}

function read(reply: Loose): LlmReading {
  const parts = asObjects(reply.content)
  const texts = (type: string, separator?: string) =>
    joined(
      parts.map((item) => (item.type === type ? asText(item.text) : undefined)),
      separator,
    )
  const calls = parts.filter(({ type }) => type === 'tool-call')
  const runs = calls.filter(({ providerExecuted }) => providerExecuted === true).map(runOf)
  for (const item of parts.filter(({ type }) => type === 'tool-result')) {
    const at = runs.findIndex(({ toolCallId }) => toolCallId === item.toolCallId)
    const { error: _before, ...run } = runs[at] ?? runOf(item)
    const { serverLabel, error } = asObject(item.result) ?? {}
    const failed = item.isError === true || (serverLabel !== undefined && error != null)
    const outcome = failed ? { error: item.result } : { result: item.result }
    const identifier = serverOf(item) ?? run.identifier
    runs[at < 0 ? runs.length : at] = { ...run, identifier, ...outcome, success: !failed }
  }
  const { finishReason: reason, response } = reply
  const finish = asName(reason) ?? asName(asObject(reason)?.raw) ?? asName(asObject(reason)?.unified)
  const usage = usageOf(reply)
  const reportedCostUsd = costOfModelReply(reply)
  return {
    response: present<LlmResponse>({
      id: asName(asObject(response)?.id),
      model: asName(asObject(response)?.modelId),
      finishReasons: finish === undefined ? undefined : [finish],
      content: texts('text'),
      reasoning: texts('reasoning', '\n'),
      toolCalls: calls
        .filter(({ providerExecuted }) => providerExecuted !== true)
        .map(({ toolCallId, toolName, input }) => ({
          toolCallId: asText(toolCallId) ?? '',
          apiName: asText(toolName) ?? '',
          ...argumentsOf(input),
        })),
      providerToolCalls: runs,
      parts: parts
        .filter((item) => item.type !== 'text' && item.type !== 'reasoning' && !isToolPart(item))
        .flatMap((item) => part(item) ?? otherPart(item)),
    }),
    ...defined({ usage, reportedCostUsd }),
  }
}

function usageOf({ usage, providerMetadata, response }: Loose): TokenUsage | undefined {
  const counts = asObject(usage)
  const raw = counts?.raw ?? asObject(asObject(providerMetadata)?.anthropic)?.usage
  // The provider's package counts of them what was not cached alone, or none.
  if (besideTotals(raw).length > 0) return readMessageUsage(raw)
  const counted = readUsage(counts, asCount(counts?.outputTokens) === undefined ? USAGE : USAGE_V2)
  if (counted === undefined) return undefined
  // `@ai-sdk/openai-compatible` leaves it out.
  const written = asCount(asObject(asObject(raw)?.prompt_tokens_details)?.cache_write_tokens)
  const { cacheCreationInputTokens = written } = counted
  const cacheCreation1hInputTokens = keptForAnHour(raw)
  const whole = { ...counted, ...defined({ cacheCreationInputTokens, cacheCreation1hInputTokens }) }
  return withThoughts(whole, asObject(raw)?.total_tokens, asName(asObject(response)?.modelId))
}

/** Texts, thoughts and arguments grow under an id; all other parts come whole. */
class PartCollector implements Collector {
  readonly #content: Loose[] = []
  readonly #open = new Map<unknown, Loose>()
  #top: Loose = { finishReason: 'error' }
  ended = false

  push({ type, ...fields }: Loose): void {
    const [, kind, step] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(asText(type) ?? '') ?? []
    if (kind !== undefined) this.#grow(kind, step, fields)
    else if (type === 'response-metadata')
      this.#top.response = { ...asObject(this.#top.response), ...defined(fields) }
    else if (type === 'finish') {
      this.#top = { ...this.#top, ...fields }
      this.ended = true
    } else if (type === 'text-instead') {
      // Not the AI SDK's: a guardrail takes back all that was said.
      this.#content.splice(0, Number.POSITIVE_INFINITY, { type: 'text', text: fields.text })
      this.#open.clear()
    } else if (type === 'tool-call') {
      Object.assign(this.#part(fields.toolCallId, {}), { type, ...fields })
      this.#open.delete(fields.toolCallId)
    } else if (!/^(stream-start|raw|ping|error|abort|(start|finish)(-step)?)$/.test(asText(type) ?? ''))
      this.#content.push({ type, ...fields })
  }

  #part(id: unknown, begun: Loose): Loose {
    const before = this.#open.get(id)
    if (before !== undefined) return before
    this.#open.set(id, begun)
    this.#content.push(begun)
    return begun
  }

  #grow(
    kind: string,
    step: string | undefined,
    { id, delta, text, providerMetadata, ...fields }: Loose,
  ): void {
    const call = kind === 'tool-input'
    // Signatures of thoughts come with any of the three, and are those of the whole.
    const open = this.#open.get(id)
    if (open !== undefined && providerMetadata !== undefined) open.providerMetadata = providerMetadata
    if (step === 'end') return void (call || this.#open.delete(id))
    const own = defined({ providerMetadata })
    const begun = call
      ? { type: 'tool-call', toolCallId: id, input: '', ...own, ...fields }
      : { type: kind, text: '', ...own }
    const item = this.#part(id, begun)
    const field = call ? 'input' : 'text'
    item[field] = (asText(item[field]) ?? '') + (asText(delta) ?? asText(text) ?? '')
  }

  reply(): Loose {
    return { ...this.#top, content: this.#content }
  }
}

/** The SDK's words for what providers say. */
const UNIFIED: readonly (readonly [RegExp, string])[] = [
  [/^(stop|end_turn|stop_sequence)$/i, 'stop'],
  [/^(length|max_tokens)$/i, 'length'],
  [/^(tool[_-]calls?|tool_use)$/, 'tool-calls'],
  [/^(content[_-]filter|refusal|safety)$/i, 'content-filter'],
  [/^error$/, 'error'],
]

function write({ response, usage }: LlmReading, request: LlmRequest): Loose {
  const { id = 'stand-in', model = asText(request.modelId), toolCalls = [] } = response
  const raw = response.finishReasons?.[0] ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop')
  const unified = UNIFIED.find(([words]) => words.test(raw))?.[1] ?? 'other'
  const { inputTokens, outputTokens, ...more } = usage ? writeUsage(usage, USAGE) : {}
  return {
    content: writeParts(response),
    finishReason: { unified, raw },
    usage: {
      // By the field, also where nothing was counted, Mastra knows of which version they are.
      inputTokens: { total: undefined, ...asObject(inputTokens) },
      outputTokens: { total: undefined, ...asObject(outputTokens) },
      ...more,
      ...(usage && keptRaw(usage)),
    },
    response: { id, ...defined({ modelId: model }) },
    warnings: [],
  }
}

/** It has no place among the counts of the SDK, which leaves it to the provider's own. */
function keptRaw({ cacheCreation1hInputTokens: kept }: TokenUsage): Loose {
  return kept === undefined ? {} : { raw: { cache_creation: { ephemeral_1h_input_tokens: kept } } }
}

function writeParts(response: LlmResponse): Loose[] {
  const { reasoning, content, refusal, toolCalls = [], providerToolCalls = [], parts = [] } = response
  const text = content ?? refusal
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]),
    ...providerToolCalls.flatMap(({ toolCallId, apiName: toolName, args, result, error }) => {
      const asked = {
        type: 'tool-call',
        toolCallId,
        toolName,
        input: argumentsText({ args }),
        providerExecuted: true,
      }
      const made = error ?? result
      if (made === undefined) return [asked]
      return [
        asked,
        { type: 'tool-result', toolCallId, toolName, result: made, isError: error !== undefined },
      ]
    }),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...parts.map((item) => (isMedia(item) ? writeMedium(item) : item)),
    ...toolCalls.map((call) => ({
      type: 'tool-call',
      toolCallId: call.toolCallId,
      toolName: call.apiName,
      input: argumentsText(call),
    })),
  ]
}

function writeMedium({ type, mime_type, modality, content, uri, file_id }: Loose): Loose {
  const url = asText(uri) ?? ''
  const data =
    type === 'blob'
      ? { type: 'data', data: content }
      : type === 'file'
        ? { type: 'reference', reference: { [OWNER]: file_id } }
        : { type: 'url', url: URL.canParse(url) ? new URL(url) : url }
  return { type: 'file', mediaType: mime_type ?? `${modality}/*`, data }
}

function events(reply: Loose): Loose[] {
  const { content, finishReason, usage, response, warnings = [], providerMetadata: about } = reply
  return [
    { type: 'stream-start', warnings },
    { type: 'response-metadata', ...asObject(response) },
    ...asObjects(content).flatMap((item, index) => {
      const id = String(index)
      const { type, providerMetadata } = item
      const own = defined({ providerMetadata })
      if (type !== 'text' && type !== 'reasoning') return [item]
      const deltas = pieces(item.text).map((delta) => ({ type: `${type}-delta`, id, delta }))
      return [{ type: `${type}-start`, id, ...own }, ...deltas, { type: `${type}-end`, id, ...own }]
    }),
    { type: 'finish', finishReason, usage, ...defined({ providerMetadata: about }) },
  ]
}
