import type { ToolOutcome } from '../dispatcher/index.ts'
import { safeStringify, toContent } from '../internal/json.ts'
import { isRecord } from '../internal/objects.ts'
import { asObjects } from '../wire/reading.ts'

/** A piece of a tool's result, in the words of MCP. */
export type ToldPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mimeType: string; readonly data: string }

/** What the model is told of a call: text, or pieces where a picture is among them. Plain JSON. */
export type Told = string | readonly ToldPart[]

/**
 * What the model is to be told. A result in the shape of MCP's (`{ content: [{ type: 'image', data, mimeType }, ...] }`) is
 * told piece by piece where it has a picture; any other as text. What is over the limit is left out, and said to be.
 */
export function toldOf(outcome: ToolOutcome, maxBytes: number): Told {
  const { content } = outcome.toToolMessage()
  const parts = 'result' in outcome ? picturesIn(outcome.result) : undefined
  // With words of its own (`ToolResult`, a mock) it is told these.
  if (parts === undefined || content !== toContent((outcome as { result: unknown }).result)) {
    return cutText(content, maxBytes)
  }
  let left = maxBytes
  return parts.map((part) => {
    const bytes = part.type === 'image' ? part.data.length : Buffer.byteLength(part.text)
    if (bytes <= left) {
      left -= bytes
      return part
    }
    const room = left
    left = 0
    return part.type === 'text'
      ? textPart(cutText(part.text, room))
      : textPart(
          `[${part.mimeType} left out: ${bytes} bytes as base64, of ${maxBytes} that a result may have]`,
        )
  })
}

function picturesIn(result: unknown): readonly ToldPart[] | undefined {
  if (!isRecord(result) || !Array.isArray(result.content)) return undefined
  const parts = asObjects(result.content).map((part): ToldPart => {
    const { type, text, data, mimeType } = part
    if (type === 'text' && typeof text === 'string') return textPart(text)
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') {
      return { type, mimeType, data }
    }
    // Sound, a link: no API takes it in a result.
    return typeof data === 'string'
      ? textPart(`[${String(mimeType ?? type)}: ${data.length} bytes as base64, which cannot be shown]`)
      : textPart(safeStringify(part))
  })
  return parts.some(({ type }) => type === 'image') ? parts : undefined
}

function textPart(text: string): ToldPart {
  return { type: 'text', text }
}

/** As an address, which is how both APIs take pictures. */
export function addressOf({ mimeType, data }: Extract<ToldPart, { type: 'image' }>): string {
  return `data:${mimeType};base64,${data}`
}

/** At most so many bytes of UTF-8, saying how much is missing. */
function cutText(text: string, maxBytes: number): string {
  // A character takes at most 3 bytes per UTF-16 unit.
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  const head = Buffer.from(text.slice(0, maxBytes))
    .subarray(0, maxBytes)
    .toString()
    .replace(/\uFFFD$/, '')
  return `${head}\n[cut off: ${bytes} bytes in all, the first ${maxBytes} are shown]`
}
