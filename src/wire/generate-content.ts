import type { LlmMessage, LlmRequest, LlmResponse, ProviderToolCall } from '../hooks/values.ts'
import { defined } from '../internal/objects.ts'
import { pieces } from './events.ts'
import type { Collector, HostedTool, WireFormat } from './format.ts'
import { countedUsage, countsOf, OWNER, writeError } from './google.ts'
import { addPiece, beginCall } from './partial-arguments.ts'
import {
  isMedia,
  mediaPart,
  modalityOf,
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
  type UsageNames,
} from './reading.ts'

const USAGE: UsageNames = [
  ['inputTokens', 'promptTokenCount'],
  ['outputTokens', 'candidatesTokenCount'],
  ['cachedInputTokens', 'cachedContentTokenCount'],
  ['reasoningTokens', 'thoughtsTokenCount'],
]

/** Parts have no type: the field that is there says what they are. */
const part: PartReader = (value) => {
  if (value.type !== undefined) return undefined
  const { text, inlineData, fileData, functionCall, functionResponse } = value
  if (typeof text === 'string') return value.thought === true ? reasoningPart(text) : textPart(text)
  const call = asObject(functionCall)
  if (call !== undefined) return toolCallPart(call.id, call.name, call.args ?? {})
  const answer = asObject(functionResponse)
  if (answer !== undefined) return toolResultPart(answer.id ?? answer.name, answer.response)
  const medium = asObject(inlineData) ?? asObject(fileData)
  if (medium !== undefined) {
    const { mimeType, data, fileUri: url, displayName: filename } = medium
    return mediaPart(modalityOf(mimeType), { mimeType, data, url, filename })
  }
  const [run, result] = [runOf(value), resultOf(value)]
  if (run !== undefined) return providerParts(run)
  if (result !== undefined) return providerParts(result).slice(1)
  return otherPart(value)
}

/** Google's generate-content API, of Gemini and Vertex. */
export const generateContent: WireFormat = {
  name: 'generateContent',
  route: /:(stream)?[gG]enerateContent$/,
  idPrefix: 'resp',
  isRequest: (request) => request.contents !== undefined,
  isReply: (reply) =>
    Array.isArray(reply.candidates) || asObject(reply.promptFeedback ?? reply.usageMetadata) !== undefined,
  isChunk: (chunk) => generateContent.isReply(chunk),
  // The API puts settings beside the contents, Google's own client into `config`.
  fields: ({ contents, systemInstruction, system_instruction, tools, config }) => {
    const settings = asObject(config)
    const instructions = systemInstruction ?? system_instruction ?? settings?.systemInstruction
    return {
      messages: contents,
      instructions: asObject(instructions)?.parts ?? instructions,
      tools: asObjects(tools ?? settings?.tools).flatMap(toolsOf),
    }
  },
  hosted: ({ tools, config }) => asObjects(tools ?? asObject(config)?.tools).flatMap(hostedIn),
  message: ({ role, parts, ...bare }, read) => {
    const given = asList(parts ?? [bare])
    const answers = given.length > 0 && given.every((item) => asObject(item)?.functionResponse !== undefined)
    return {
      role: answers ? 'tool' : role === 'model' ? 'assistant' : (asText(role) ?? 'user'),
      parts: partsOf(given, read),
    }
  },
  part,
  read,
  pieces: {
    of: (reply) => asObjects(asObject(firstOf(reply)?.content)?.parts),
    put: withParts,
    withoutText,
  },
  collector: () => new ContentCollector(),
  textOf: (chunk) => readCandidate(asObjects(chunk.candidates)[0] ?? {}).content,
  write,
  writeError,
  events,
}

const firstOf = ({ candidates }: Loose): Loose | undefined => asObjects(candidates)[0]

function withParts(reply: Loose, parts: readonly Loose[]): Loose {
  const { content, ...first } = firstOf(reply) ?? {}
  const others = asList(reply.candidates).slice(1)
  return { ...reply, candidates: [{ ...first, content: { ...asObject(content), parts } }, ...others] }
}

function withoutText(reply: Loose): Loose {
  const { logprobsResult: _tokens, citationMetadata: _cited, ...first } = firstOf(reply) ?? {}
  const grounds = asObject(first.groundingMetadata)
  const groundingMetadata = grounds?.groundingSupports ? { ...grounds, groundingSupports: [] } : grounds
  const others = asList(reply.candidates).slice(1)
  return { ...reply, candidates: [{ ...first, ...defined({ groundingMetadata }) }, ...others] }
}

/** Functions come several in one tool; of Google's own tools the field is the name. */
function toolsOf({ functionDeclarations, ...own }: Loose): Loose[] {
  return [
    ...asObjects(functionDeclarations).map((fn) => ({ ...fn, type: 'function' })),
    ...Object.keys(own).map((name) => ({ type: name, name })),
  ]
}

/** What the caller is given the calls of. Some is written in both ways. */
const CALLERS = /^(functionDeclarations|function_declarations|computerUse|computer_use)$/

/** By the name of the field, and by that which calls have. */
function hostedIn(tool: Loose): HostedTool[] {
  const { mcpServers, mcp_servers: servers = mcpServers, ...own } = tool
  const fields = Object.keys(own).filter((name) => !CALLERS.test(name) && asObject(own[name]) !== undefined)
  const names = new Set(fields.flatMap((name) => [name.replace(/[A-Z]/g, '_$&').toLowerCase(), name]))
  return [
    ...Array.from(names, (name) => ({ name, identifier: OWNER })),
    ...asObjects(servers).map(({ name }) => ({ name: '*', identifier: asText(name) ?? OWNER })),
  ]
}

/** Code and tools that Google ran. */
function runOf({ executableCode, toolCall }: Loose): ProviderToolCall | undefined {
  const code = asObject(executableCode)
  if (code !== undefined) {
    return { toolCallId: asText(code.id) ?? '', apiName: 'code_execution', identifier: OWNER, args: code }
  }
  const call = asObject(toolCall)
  return (
    call && {
      toolCallId: asText(call.id) ?? '',
      apiName: nameOf(call),
      identifier: OWNER,
      args: call.args ?? {},
    }
  )
}

const nameOf = ({ toolType, tool_type }: Loose) => (asText(toolType ?? tool_type) ?? '').toLowerCase()

/** What came of it, as far as the part itself says. */
function resultOf({ codeExecutionResult, toolResponse }: Loose): ProviderToolCall | undefined {
  const ran = asObject(codeExecutionResult)
  const found = asObject(toolResponse)
  const given = ran ?? found
  if (given === undefined) return undefined
  const failed = ran !== undefined && ran.outcome !== 'OUTCOME_OK'
  const content = ran ?? found?.response
  return {
    toolCallId: asText(given.id) ?? '',
    apiName: ran === undefined ? nameOf(given) : 'code_execution',
    identifier: OWNER,
    args: {},
    ...(failed ? { error: content } : { result: content }),
    success: !failed,
  }
}

function read(reply: Loose): LlmReading {
  const candidates = asObjects(reply.candidates)
  const [first = {}, ...others] = candidates
  const reasons = candidates.map((candidate) => asName(candidate.finishReason))
  const blocked = asName(asObject(reply.promptFeedback)?.blockReason)
  const usage = countedUsage(reply.usageMetadata, USAGE, 'toolUsePromptTokenCount')
  return {
    response: present<LlmResponse>({
      id: asName(reply.responseId),
      model: asName(reply.modelVersion),
      finishReasons: reasons.some((reason) => reason !== undefined)
        ? reasons.map((reason) => reason ?? 'error')
        : blocked === undefined
          ? undefined
          : [blocked],
      ...readCandidate(first),
      alternatives: others.map(readCandidate),
    }),
    ...(usage && { usage }),
  }
}

function readCandidate({ content, groundingMetadata }: Loose): LlmMessage {
  const parts = asObjects(asObject(content)?.parts)
  const texts = (thought: boolean) =>
    joined(parts.map((item) => ((item.thought === true) === thought ? asText(item.text) : undefined)))
  const runs = parts.flatMap((item) => runOf(item) ?? [])
  for (const result of parts.flatMap((item) => resultOf(item) ?? [])) {
    const at = runs.findIndex(
      ({ toolCallId, apiName, success }) =>
        toolCallId === result.toolCallId && apiName === result.apiName && success === undefined,
    )
    runs[at < 0 ? runs.length : at] = { ...result, args: runs[at]?.args ?? {} }
  }
  const queries = asList(asObject(groundingMetadata)?.webSearchQueries)
  if (queries.length > 0 && runs.length === 0) {
    runs.push({
      toolCallId: '',
      apiName: 'google_search',
      identifier: OWNER,
      args: { queries },
      success: true,
    })
  }
  return present<LlmMessage>({
    content: texts(false),
    reasoning: texts(true),
    toolCalls: parts.flatMap(({ functionCall }) => {
      const call = asObject(functionCall)
      if (call === undefined) return []
      return [{ toolCallId: asText(call.id) ?? '', apiName: asText(call.name) ?? '', args: call.args ?? {} }]
    }),
    providerToolCalls: runs,
    parts: parts.filter(isOther).flatMap((item) => part(item) ?? []),
  })
}

/** Neither text, nor a call, nor what came of one, nor only about what stands beside it. */
function isOther(item: Loose): boolean {
  if (typeof item.text === 'string' || asObject(item.functionCall) !== undefined) return false
  return (runOf(item) ?? resultOf(item)) === undefined && Object.keys(item).some((key) => !ABOUT.test(key))
}

const ABOUT = /^(thought|thoughtSignature|partMetadata)$/

/** Each chunk is a reply with a few more parts. */
class ContentCollector implements Collector {
  #top: Loose = {}
  readonly #candidates = new Map<number, Loose & { content: { role: unknown; parts: Loose[] } }>()

  push({ candidates, ...top }: Loose): void {
    this.#top = { ...this.#top, ...top }
    for (const { index: place, content, ...fields } of asObjects(candidates)) {
      const index = asCount(place) ?? 0
      const candidate = this.#candidates.get(index) ?? { index, content: { role: 'model', parts: [] } }
      this.#candidates.set(index, Object.assign(candidate, present(fields)))
      for (const item of asObjects(asObject(content)?.parts)) append(candidate.content.parts, item)
    }
  }

  get ended(): boolean {
    const candidates = [...this.#candidates.values()]
    if (candidates.length === 0) return asObject(this.#top.promptFeedback) !== undefined
    return candidates.every(({ finishReason }) => asName(finishReason) !== undefined)
  }

  reply(): Loose {
    const inOrder = [...this.#candidates].sort(([a], [b]) => a - b)
    return {
      ...this.#top,
      candidates: inOrder.map(([, candidate]) => ({ finishReason: 'error', ...candidate })),
    }
  }
}

/** Pieces of one text are one part, and so are those of one call. A signature is of its own part alone. */
function append(parts: Loose[], item: Loose): void {
  const last = parts.at(-1)
  const call = asObject(item.functionCall)
  if (call !== undefined) {
    if (addPiece(asObject(last?.functionCall), call))
      Object.assign(last ?? {}, { ...item, functionCall: last?.functionCall })
    else parts.push({ ...item, functionCall: beginCall(call) })
    return
  }
  if (last !== undefined && isBareText(last) && isBareText(item) && last.thought === item.thought) {
    last.text = `${last.text}${item.text}`
  } else parts.push({ ...item })
}

/** That nothing is said of. */
function isBareText({ text, thought: _thought, ...about }: Loose): boolean {
  return typeof text === 'string' && Object.keys(about).length === 0
}

/** The words of chat completions; any other is taken as Google's own. */
const FINISHES: Readonly<Record<string, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
}

function write({ response, usage }: LlmReading, request: LlmRequest): Loose {
  const { id = 'stand-in', model = asText(request.model), finishReasons = [], alternatives = [] } = response
  return {
    candidates: [response, ...alternatives].map((message, index) => {
      const reason = finishReasons[index] ?? 'stop'
      return {
        content: { role: 'model', parts: writeParts(message) },
        finishReason: Object.hasOwn(FINISHES, reason) ? FINISHES[reason] : reason,
        index,
      }
    }),
    ...defined({ usageMetadata: usage && countsOf(usage, USAGE, 'totalTokenCount'), modelVersion: model }),
    responseId: id,
  }
}

function writeParts(message: LlmMessage): Loose[] {
  const { reasoning, content, refusal, toolCalls = [], providerToolCalls = [], parts = [] } = message
  const text = content ?? refusal
  return [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...providerToolCalls.flatMap(writeRun),
    ...(text === undefined ? [] : [{ text }]),
    ...parts.filter(isMedia).map(writeMedium),
    ...toolCalls.map((call) => {
      const id = asName(call.toolCallId)
      const args = parseArguments(argumentsText(call))
      return { functionCall: { ...defined({ id }), name: call.apiName, args } }
    }),
  ]
}

function writeMedium({ type, mime_type: mimeType, content, uri, file_id }: Loose): Loose {
  return type === 'blob'
    ? { inlineData: { mimeType, data: content } }
    : { fileData: { mimeType, fileUri: uri ?? file_id } }
}

function writeRun({ toolCallId, apiName, args, result, error, success }: ProviderToolCall): Loose[] {
  if (apiName === 'code_execution') {
    const ran = asObject(error ?? result)
    return [{ executableCode: args }, ...(ran === undefined ? [] : [{ codeExecutionResult: ran }])]
  }
  const known = { ...(toolCallId !== '' && { id: toolCallId }), toolType: apiName.toUpperCase() }
  const asked = { toolCall: { ...known, args } }
  return success === undefined ? [asked] : [asked, { toolResponse: { ...known, response: error ?? result } }]
}

function events(reply: Loose): Loose[] {
  const { candidates, usageMetadata, ...top } = reply
  const chunks = asObjects(candidates).flatMap(({ content, index, ...end }) => {
    const { role, parts } = asObject(content) ?? {}
    const chunk = (item: Loose) => ({ candidates: [{ content: { role, parts: [item] }, index }], ...top })
    const all = asObjects(parts).flatMap((item) =>
      item.text && isBareText(item)
        ? pieces(item.text).map((text) => chunk({ ...item, text }))
        : [chunk(item)],
    )
    return [...all, { candidates: [{ content: { role, parts: [] }, ...end, index }], ...top }]
  })
  const last = chunks.pop()
  return last === undefined ? [{ usageMetadata, ...top }] : [...chunks, { ...last, usageMetadata }]
}
