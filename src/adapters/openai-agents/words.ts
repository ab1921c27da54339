import { defined, isRecord } from '../../internal/objects.ts'
import { asObjects, asText, type Loose, present } from '../../wire/reading.ts'
import { saidIn } from '../instruction.ts'
import type { Item } from './sdk.ts'

/** Items of which the SDK keeps nearly all beside, as the provider said it. */
const KEPT_BESIDE = new Set<unknown>(['hosted_tool_call', 'unknown'])

/** Calls that the provider runs, and what it says of them: each is a `hosted_tool_call` of the SDK. */
const HOSTED =
  /^((web_search|file_search|code_interpreter|image_generation|mcp)_call|mcp_(list_tools|approval_re(quest|sponse)))$/

/**
 * The SDK's items are those of the Responses API in other letters. Gates, traces and mocks see them as that API has
 * them, so that the same gate reads the requests of every SDK.
 */
export function toWire(item: Item): Loose {
  const { type = 'message', callId, providerData } = item
  if (KEPT_BESIDE.has(type)) {
    const { name, arguments: args, output, status, id } = item
    const own = isRecord(providerData) ? providerData : {}
    return present({ type: name, id, status, arguments: args, output, ...own })
  }
  if (type === 'message') return { ...bare(item), type, content: contentToWire(item.content) }
  const named = String(type).replace(/_result$/, '_output')
  if (named === 'function_call_output') {
    return { type: named, call_id: callId, output: outputToWire(item.output) }
  }
  const thought = isToldRaw(item) ? { content: item.rawContent } : {}
  return { ...bare(item), type: named, ...thought, ...defined({ call_id: callId }) }
}

function bare({ providerData: _own, callId: _id, ...rest }: Item): Loose {
  return rest
}

/** Streamed thoughts of chat completions stand in the second place alone. */
export function isToldRaw({ type, content, rawContent }: Item): boolean {
  return type === 'reasoning' && asObjects(content).length === 0 && Array.isArray(rawContent)
}

function contentToWire(content: unknown): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part: unknown) => {
    if (!isRecord(part)) return part
    const { image, file, providerData: _own, ...rest } = part
    if (part.type === 'input_image') return { ...rest, ...media('image_url', image) }
    return part.type === 'input_file' ? { ...rest, ...media('file_url', file) } : rest
  })
}

function media(field: string, given: unknown): Loose {
  if (!isRecord(given)) return { [field]: given }
  return present({ [field]: given.url, file_id: given.id })
}

function outputToWire(output: unknown): unknown {
  return isRecord(output) && output.type === 'text' ? output.text : output
}

/**
 * @param all the items that it stands among.
 * @param origin what it was before a gate changed it.
 */
export function fromWire(item: Loose, all: readonly Loose[], origin?: Item): Item {
  const { type = 'message', call_id: callId } = item
  if (origin === undefined ? HOSTED.test(String(type)) : KEPT_BESIDE.has(origin.type)) {
    return besideFromWire(item, origin)
  }
  if (type === 'message') {
    const { content, role } = item
    // The SDK knows no other word for who made the agent, and leaves out what it does not know.
    if (role === 'developer')
      return { ...item, role: 'system', content: Array.isArray(content) ? saidIn(content) : content }
    if (role !== 'assistant') return { ...item, content: contentFromWire(content) }
    const parts = typeof content === 'string' ? [{ type: 'output_text', text: content }] : content
    return { ...item, type, status: item.status ?? 'completed', content: parts }
  }
  if (type === 'function_call_output') {
    const name = all.find((call) => call.type === 'function_call' && call.call_id === callId)?.name ?? ''
    const { output } = item
    const told = typeof output === 'string' ? { type: 'text', text: output } : output
    return { type: 'function_call_result', name, callId, status: 'completed', output: told }
  }
  const { call_id: _id, summary, ...rest } = item
  if (type === 'reasoning' && summary !== undefined) {
    return { ...rest, content: asObjects(summary).map(({ text }) => ({ type: 'input_text', text })) }
  }
  const named = type === 'computer_call_output' ? { type: 'computer_call_result' } : {}
  return { ...rest, ...named, ...defined({ callId }) }
}

/** What the item itself had stays in it, and all else is beside. */
function besideFromWire(item: Loose, origin: Item | undefined): Item {
  const { type, id, status, output } = item
  if (origin === undefined) {
    return present({ type: 'hosted_tool_call', id, name: type, status, output, providerData: item })
  }
  const { providerData } = origin
  const beside = (key: string) =>
    (isRecord(providerData) && Object.hasOwn(providerData, key)) || !Object.hasOwn(origin, key)
  const own = Object.entries(item).filter(([key]) => key !== 'type' && key !== 'name')
  return {
    ...Object.fromEntries(own.filter(([key]) => Object.hasOwn(origin, key))),
    providerData: Object.fromEntries(Object.entries(item).filter(([key]) => key !== 'type' && beside(key))),
  }
}

/** A picture or a file that is beside a changed text, in the SDK's words again: it sends no other. */
function contentFromWire(content: unknown): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part: unknown) => {
    if (!isRecord(part)) return part
    const { image_url: image, file_url: file, file_id: id, ...rest } = part
    if (part.type === 'input_image') return { ...rest, image: id === undefined ? image : { id } }
    if (part.type !== 'input_file' || part.file_data !== undefined) return part
    const url = /^https?:/.test(asText(file) ?? '') ? { url: file } : file
    return { ...rest, file: id === undefined ? url : { id } }
  })
}
