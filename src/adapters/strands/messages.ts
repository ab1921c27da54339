import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { canonicalJson, safeStringify } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { asName, asObject, asObjects, asText, type Loose, parseArguments } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import { assertSent } from '../gate-request.ts'
import type { ModelContext, ModelResult, StrandsBlock, StrandsMessage, StrandsMessageClass } from './sdk.ts'

/** A conversation in the words that chat models take. */
export function plainMessages(messages: readonly StrandsMessage[]): Loose[] {
  return messages.flatMap(plainOf)
}

/** One message of the SDK holds the results of all calls of a turn. */
function plainOf({ role, content }: StrandsMessage): Loose[] {
  const results = content
    .filter(({ type }) => type === 'toolResultBlock')
    .map(({ toolUseId, content: told = [] }) => ({
      role: 'tool',
      tool_call_id: toolUseId,
      content: textOfResult(told),
    }))
  const calls = content
    .filter(({ type }) => type === 'toolUseBlock')
    .map(({ toolUseId: id, name, input }) => ({
      id,
      type: 'function',
      function: { name, arguments: safeStringify(input ?? {}) },
    }))
  const said = content.filter(({ type }) => type !== 'toolResultBlock' && type !== 'toolUseBlock')
  if (said.length === 0 && calls.length === 0) return results
  const own = { role, content: plainContent(said), ...(calls.length > 0 && { tool_calls: calls }) }
  return [...results, own]
}

function plainContent(blocks: readonly StrandsBlock[]): unknown {
  if (blocks.every(({ type }) => type === 'textBlock')) return textOf(blocks)
  return blocks.map(plainBlock)
}

/** Media in the words of the APIs that have one for them: images and documents in Anthropic's. */
function plainBlock({ type, text, format, name: title, source }: StrandsBlock): Loose {
  const kind = type.replace(/Block$/, '')
  const plain = { type: kind, text, format }
  if (source === undefined) return defined(plain)
  const { bytes, location, content, text: written } = source
  const url = source.url ?? location?.uri
  const data = bytes && base64Of(bytes)
  const mimeType = mimeTypeOf(kind, format)
  if (kind === 'video' || kind === 'audio') return defined({ ...plain, data, uri: url, mime_type: mimeType })
  if (written !== undefined) return defined({ ...plain, title, source: { type: 'text', data: written } })
  if (content !== undefined)
    return defined({ ...plain, title, source: { type: 'text', data: textOf(content) } })
  const from = data === undefined ? { type: 'url', url } : { type: 'base64', media_type: mimeType, data }
  return defined({ ...plain, title, source: defined(from) })
}

function mimeTypeOf(kind: string, format: string | undefined): string | undefined {
  if (kind !== 'document') return `${kind}/${format === 'jpg' ? 'jpeg' : format}`
  return format === 'pdf' ? 'application/pdf' : undefined
}

/** A conversation is told anew in each call. */
const written = new WeakMap<Uint8Array, string>()

function base64Of(bytes: Uint8Array): string {
  const known =
    written.get(bytes) ?? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
  written.set(bytes, known)
  return known
}

export function textOf(blocks: readonly StrandsBlock[]): string {
  return blocks.map(({ type, text }) => (type === 'textBlock' ? (text ?? '') : '')).join('')
}

function textOfResult(blocks: readonly StrandsBlock[]): string {
  const value = resultOf(blocks)
  return typeof value === 'string' ? value : safeStringify(value)
}

/** What a tool's result is: its text, its JSON, or its blocks where they are several or of another kind. */
export function resultOf(blocks: readonly StrandsBlock[]): unknown {
  const [only] = blocks
  if (blocks.length === 1 && only?.type === 'jsonBlock') return only.json
  if (blocks.every(({ type }) => type === 'textBlock')) return textOf(blocks)
  return blocks.map((block) => block.toJSON?.() ?? block)
}

/** What is asked of the model. */
export function requestOf({
  model,
  messages,
  systemPrompt,
  toolSpecs,
  toolChoice,
}: ModelContext): LlmRequest {
  const { temperature, topP: top_p, maxTokens: max_tokens } = model.getConfig?.() ?? {}
  const told = systemText(systemPrompt)
  const system = told === undefined ? [] : [{ role: 'system', content: told }]
  return defined({
    temperature,
    top_p,
    max_tokens,
    messages: [...system, ...plainMessages(messages)],
    tools: toolSpecs.length === 0 ? undefined : toolSpecs.map(plainTool),
    tool_choice: plainChoice(toolChoice),
  }) as LlmRequest
}

export function systemText(prompt: unknown): string | undefined {
  if (typeof prompt === 'string') return prompt
  return Array.isArray(prompt) ? textOf(prompt as StrandsBlock[]) : undefined
}

function plainTool({ name, description, inputSchema: parameters }: Loose): Loose {
  return { type: 'function', function: defined({ name, description, parameters }) }
}

function plainChoice(choice: unknown): unknown {
  const { auto, any, tool } = asObject(choice) ?? {}
  if (auto !== undefined) return 'auto'
  if (any !== undefined) return 'required'
  return tool && { type: 'function', function: { name: asObject(tool)?.name } }
}

/** What of a request can be changed before the SDK makes it of the context: the rest belongs to the model object. */
const CHANGEABLE = ['messages', 'tools', 'tool_choice']

/**
 * What gates made of the request, in the SDK's words.
 *
 * @throws HookspanError `NOT_CAPABLE` for what the SDK keeps in the model.
 */
export function contextOf(ctx: ModelContext, asked: LlmRequest, effective: LlmRequest): ModelContext {
  if (effective === asked) return ctx
  assertSent(asked, effective, {
    by: 'Strands',
    isSent: (field) => CHANGEABLE.includes(field),
    mend: () =>
      'Model and sampling belong to the model: change messages, tools or tool_choice, or give the agent another one.',
  })
  const changed = CHANGEABLE.filter((field) => !sameJson(asked[field], effective[field]))
  const { messages, tools, tool_choice } = effective
  return {
    ...ctx,
    ...(changed.includes('messages') && conversationOf(ctx, asObjects(messages))),
    ...(changed.includes('tools') && { toolSpecs: asObjects(tools).map(specOf) }),
    ...(changed.includes('tool_choice') && { toolChoice: choiceOf(tool_choice) }),
  }
}

/** @throws HookspanError `NOT_CAPABLE` for one that is no function: those of the provider belong to the model. */
function specOf(tool: Loose): Loose {
  const { name, description, parameters: inputSchema } = asObject(tool.function) ?? tool
  if (asName(name) !== undefined) return defined({ name, description, inputSchema })
  throw new HookspanError(
    'NOT_CAPABLE',
    `A beforeLlmCall gate offers the model a tool of type "${String(tool.type)}", which Strands keeps in the model. Offer functions, or ` +
      'give the agent another model.',
  )
}

/** @throws HookspanError `NOT_CAPABLE` for what the SDK cannot say. */
function choiceOf(choice: unknown): unknown {
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto') return { auto: {} }
  if (choice === 'required') return { any: {} }
  const { function: fn, name: own } = asObject(choice) ?? {}
  const name = asName(asObject(fn)?.name) ?? asName(own)
  if (name !== undefined) return { tool: { name } }
  throw new HookspanError(
    'NOT_CAPABLE',
    `A beforeLlmCall gate set \`tool_choice\` to ${safeStringify(choice)}, which Strands does not ask a model. Say "auto", "required" or ` +
      '`{ type: "function", function: { name } }`; take tools away with `tools`.',
  )
}

/** The SDK's own messages where they were left as they are, with all that no plain message says. */
function conversationOf(ctx: ModelContext, plain: readonly Loose[]): Partial<ModelContext> {
  const system = plain.filter(({ role }) => role === 'system' || role === 'developer')
  const Message = messageClass(ctx.messages)
  const known = ctx.messages.map((message) => ({ message, as: plainOf(message).map(canonicalJson) }))
  const left = plain.filter((message) => !system.includes(message))
  const messages: StrandsMessage[] = []
  for (let at = 0; at < left.length; ) {
    const same = known.findIndex(
      ({ as }) => as.length > 0 && as.every((one, i) => left[at + i] && one === canonicalJson(left[at + i])),
    )
    const [found] = same < 0 ? [] : known.splice(same, 1)
    if (found !== undefined) {
      messages.push(found.message)
      at += found.as.length
      continue
    }
    // The results of a turn are one message, as APIs want them.
    const results = left.slice(at, endOfResults(left, at))
    const data =
      results.length > 0
        ? { role: 'user', content: results.map((result) => resultData(result, ctx.messages)) }
        : dataOf(left[at] as Loose, ctx.messages)
    messages.push(Message.fromMessageData(data))
    at += Math.max(1, results.length)
  }
  const told = system.map(({ content }) => plainText(content)).join('\n')
  const { systemPrompt: before, ...rest } = ctx
  const prompt = told === systemText(before) ? before : told
  return { ...rest, messages, ...(system.length > 0 && { systemPrompt: prompt }) }
}

function endOfResults(messages: readonly Loose[], from: number): number {
  const end = messages.findIndex(({ role }, at) => at >= from && role !== 'tool')
  return end < 0 ? messages.length : end
}

/** A result that a gate left as it was stays; one that it changed has failed where it had. */
function resultData({ tool_call_id, content }: Loose, before: readonly StrandsMessage[]): Loose {
  const id = asText(tool_call_id) ?? ''
  const isIt = ({ type, toolUseId }: StrandsBlock) => type === 'toolResultBlock' && toolUseId === id
  const own = before.flatMap((message) => message.content).find(isIt)
  const left = own !== undefined && textOfResult(own.content ?? []) === content ? own.toJSON?.() : undefined
  return (
    left ?? { toolResult: { toolUseId: id, status: own?.status ?? 'success', content: textData(content) } }
  )
}

function dataOf(
  { role, content, tool_calls }: Loose,
  before: readonly StrandsMessage[],
): { role: string; content: object[] } {
  const calls = asObjects(tool_calls).map(({ id, function: fn }) => {
    const { name, arguments: args } = asObject(fn) ?? {}
    return { toolUse: { toolUseId: id, name, input: parseArguments(args) } }
  })
  return {
    role: role === 'assistant' ? 'assistant' : 'user',
    content: [...contentData(content, before, calls.length > 0), ...calls],
  }
}

/**
 * The blocks that a gate left as they were stay what they are, beside the texts that it changed.
 *
 * @throws HookspanError `NOT_CAPABLE` for what is neither.
 */
function contentData(content: unknown, before: readonly StrandsMessage[], mayBeEmpty: boolean): object[] {
  const parts = asObjects(content)
  if (parts.every(({ type }) => type === 'text' || type === undefined)) return textData(content, mayBeEmpty)
  const blocks = new Map(
    before.flatMap((message) => message.content.map((block) => [canonicalJson(plainBlock(block)), block])),
  )
  return parts.map((part) => {
    const left = blocks.get(canonicalJson(part))?.toJSON?.()
    const text = asText(part.text)
    if (left !== undefined || text !== undefined) return left ?? { text }
    throw new HookspanError(
      'NOT_CAPABLE',
      `A beforeLlmCall gate put a part of type "${String(part.type)}" into a message, which is not told to Strands. Change texts, ` +
        'and leave other parts as they are.',
    )
  })
}

function textData(content: unknown, mayBeEmpty = false): { text: string }[] {
  const text = plainText(content)
  return text === '' && mayBeEmpty ? [] : [{ text }]
}

function plainText(content: unknown): string {
  const parts = () => asObjects(content).map((part) => asText(part.text) ?? '')
  return asText(content) ?? parts().join('')
}

/** @throws HookspanError `NOT_CAPABLE` where the agent has no message yet that says what its messages are made of. */
export function messageClass(messages: readonly StrandsMessage[]): StrandsMessageClass {
  const made = messages[0]?.constructor as Partial<StrandsMessageClass> | undefined
  if (typeof made?.fromMessageData === 'function') return made as StrandsMessageClass
  throw new HookspanError(
    'NOT_CAPABLE',
    'A gate or a mock answers in the place of an agent of Strands that has no message yet. Invoke it with an input.',
  )
}

/** What a gate says in the model's place. */
export function standInResult(messages: readonly StrandsMessage[], said: LlmResponse): ModelResult {
  const { content, refusal, toolCalls = [] } = said
  const text = content ?? refusal ?? ''
  const calls = toolCalls.map(({ toolCallId, apiName, args }) => ({
    toolUse: { toolUseId: toolCallId, name: apiName, input: args ?? {} },
  }))
  const data = { role: 'assistant', content: [...textData(text, calls.length > 0), ...calls] }
  const message = messageClass(messages).fromMessageData(data)
  return { message, stopReason: calls.length > 0 ? 'toolUse' : 'endTurn' }
}
