import type { LlmMessage, LlmResponse, MessagePart, ProviderToolCall } from '../hooks/values.ts'
import { asList, asName, asObject, asText, type Loose } from './reading.ts'

/** A message in the JSON shape of the OpenTelemetry GenAI conventions. */
export interface ChatMessage {
  readonly role: string
  readonly parts: readonly MessagePart[]
  readonly name?: string
  readonly finish_reason?: string
}

/** Tells a part of a provider's message in the conventions' words; undefined where it is none of that provider's. */
export type PartReader = (part: Loose) => MessagePart | readonly MessagePart[] | undefined

/** Parts that are told apart by their `type`. */
export function byType(table: Readonly<Record<string, PartReader>>): PartReader {
  // Not what an object has from its prototype: a type may be called `constructor`.
  return (part) =>
    typeof part.type === 'string' && Object.hasOwn(table, part.type) ? table[part.type]?.(part) : undefined
}

export function textMessage(role: string, content: string): ChatMessage {
  return { role, parts: [textPart(content)] }
}

/** What an agent gives in the end. */
export function outputMessage(content: string, finish_reason: string): ChatMessage {
  return { ...textMessage('assistant', content), finish_reason }
}

export function textPart(content: unknown): MessagePart {
  return { type: 'text', content: asText(content) ?? '' }
}

export function reasoningPart(content: unknown): MessagePart {
  return { type: 'reasoning', content: asText(content) ?? '' }
}

export function refusalPart(content: unknown): MessagePart {
  return { type: 'refusal', content: asText(content) ?? '' }
}

export function toolCallPart(id: unknown, name: unknown, args: unknown): MessagePart {
  return { type: 'tool_call', ...idOf(id), name: asText(name) ?? '', arguments: args }
}

export function toolResultPart(id: unknown, response: unknown): MessagePart {
  return { type: 'tool_call_response', ...idOf(id), response: response ?? '' }
}

function idOf(id: unknown): { id?: string } {
  const known = asName(id)
  return known === undefined ? {} : { id: known }
}

/** What a message says, be it a text, a part (as of MCP's), or a list of them. */
export function partsOf(content: unknown, read: PartReader): MessagePart[] {
  if (typeof content === 'string') return [textPart(content)]
  return (asObject(content) === undefined ? asList(content) : [content]).flatMap((value) => {
    if (typeof value === 'string') return textPart(value)
    const part = asObject(value)
    return part === undefined ? [] : (read(part) ?? otherPart(part))
  })
}

/** What nobody has a shape for keeps its own. */
export function otherPart(part: Loose): MessagePart {
  return { ...part, type: asText(part.type) ?? 'generic' }
}

/** Where the bytes of a medium are. */
export interface MediaSource {
  /** Base64, or the bytes. */
  readonly data?: unknown
  /** An address; `data:` URLs hold the bytes themselves. */
  readonly url?: unknown
  /** The provider's id of an uploaded file. */
  readonly fileId?: unknown
  readonly mimeType?: unknown
  /** As whoever sends it calls the file. */
  readonly filename?: unknown
}

/** Inline bytes, an address, or an uploaded file. */
export function mediaPart(modality: string, { filename, ...source }: MediaSource): MessagePart {
  const part = unnamedPart(modality, source)
  const name = asName(filename)
  return name === undefined ? part : { ...part, filename: name }
}

function unnamedPart(modality: string, { data, url, fileId, mimeType }: MediaSource): MessagePart {
  if (data instanceof URL) return unnamedPart(modality, { url: data, mimeType })
  const inline = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(asText(url) ?? asText(data) ?? '')
  if (inline !== null) return blob(modality, inline[1], inline[2])
  if (data !== undefined && data !== null) return blob(modality, mimeType, base64(data))
  const mime = mimeType === undefined ? {} : { mime_type: mimeType }
  const file = asName(fileId)
  if (file !== undefined) return { type: 'file', modality, ...mime, file_id: file }
  return { type: 'uri', modality, ...mime, uri: url instanceof URL ? url.href : (asText(url) ?? '') }
}

function blob(modality: string, mimeType: unknown, content: string | undefined): MessagePart {
  return { type: 'blob', modality, ...(typeof mimeType === 'string' && { mime_type: mimeType }), content }
}

function base64(data: unknown): string {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data)
    ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
    : ''
}

/** `image`, `audio`, `video`, else `document`. */
export function modalityOf(mimeType: unknown): string {
  return /^(image|audio|video)\//.exec(asText(mimeType) ?? '')?.[1] ?? 'document'
}

export function isMedia({ type }: MessagePart): boolean {
  return type === 'blob' || type === 'uri' || type === 'file'
}

/** A call that the provider ran, and what came of it. A picture that it made stands for itself. */
export function providerParts(call: ProviderToolCall): MessagePart[] {
  const { toolCallId, apiName, args, result, error } = call
  const asked = {
    type: 'server_tool_call',
    ...idOf(toolCallId),
    name: apiName,
    server_tool_call: { type: apiName, arguments: args },
  }
  if (result === undefined && error === undefined) return [asked]
  const made = result as MessagePart | null
  if (typeof made === 'object' && made !== null && isMedia(made)) return [asked, made]
  const told = { type: apiName, ...(error === undefined ? { result } : { error }) }
  return [asked, { type: 'server_tool_call_response', ...idOf(toolCallId), server_tool_call_response: told }]
}

/**
 * A reply as messages, one for each choice; none of a reply of which nothing is known. A reason is always there, because
 * backends drop the answer without one: where the reply has none, it is `otherwise`.
 */
export function outputMessages(response: LlmResponse, otherwise?: string): ChatMessage[] {
  const { alternatives = [], finishReasons = [] } = response
  const messages = [response, ...alternatives].map((message, index) => ({
    role: 'assistant',
    parts: messageParts(message),
    finish_reason:
      finishReasons[index] ?? otherwise ?? (message.toolCalls === undefined ? 'stop' : 'tool_call'),
  }))
  return messages.filter(({ parts }, index) => parts.length > 0 || finishReasons[index] !== undefined)
}

function messageParts(message: LlmMessage): MessagePart[] {
  const { content, reasoning, refusal, toolCalls = [], providerToolCalls = [], parts = [] } = message
  return [
    ...(reasoning === undefined ? [] : [reasoningPart(reasoning)]),
    ...providerToolCalls.flatMap(providerParts),
    ...(content === undefined ? [] : [textPart(content)]),
    ...(refusal === undefined ? [] : [refusalPart(refusal)]),
    ...parts,
    ...toolCalls.map((call) => toolCallPart(call.toolCallId, call.apiName, call.argsText ?? call.args)),
  ]
}
