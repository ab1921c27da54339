/** Pictures that are in a message itself. What is elsewhere is never fetched: a page of traces calls nobody. */
import { formatBytes } from './format.ts'
import type { AttributeValue } from './span.ts'

/** Longer ones are told in words. In characters. */
const MAX_CHARS = 2_000_000

/** Pictures as pixels: no SVG, which is a document. */
const SAFE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/]+={0,2}$/

export interface Image {
  src: string
  /** Its type and size, for where it is not drawn. */
  words: string
}

/** From a part in any of the shapes in which providers and conventions carry one. */
export function imageOf(part: { [key: string]: AttributeValue }): Image | undefined {
  const source = objectOf(part.source)
  const inline = objectOf(part.inlineData ?? part.inline_data)
  const url = objectOf(part.image_url).url ?? part.image_url ?? part.uri ?? part.url
  const type = part.mime_type ?? part.mimeType ?? part.mediaType ?? part.media_type ?? source.media_type
  const data = part.content ?? part.data ?? part.image ?? source.data
  const found =
    [url, data].find((one) => typeof one === 'string' && one.startsWith('data:')) ??
    uriOf(type, data) ??
    uriOf(inline.mimeType ?? inline.mime_type, inline.data)
  return typeof found === 'string' ? checked(found) : undefined
}

/** The picture, if it is one that a page may draw. */
export function checked(src: string): Image | undefined {
  if (src.length > MAX_CHARS || !SAFE.test(src)) return undefined
  const type = src.slice('data:'.length, src.indexOf(';'))
  return { src, words: `${type}, ${formatBytes(Math.floor(((src.length - src.indexOf(',')) * 3) / 4))}` }
}

function uriOf(type: AttributeValue | undefined, data: AttributeValue | undefined): string | undefined {
  return typeof type === 'string' && typeof data === 'string' ? `data:${type};base64,${data}` : undefined
}

function objectOf(value: AttributeValue | undefined): { [key: string]: AttributeValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}
