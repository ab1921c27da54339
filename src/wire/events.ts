/** More pieces than this make a stream slower without making it more telling. */
const MAX_PIECES = 200
const PIECE_CHARS = 8

/**
 * Cuts text about where a tokenizer would: at spaces, in pieces of a few characters. Never inside a
 * surrogate pair, so that each piece survives on its own. The pieces joined are the text.
 */
export function pieces(text: unknown): string[] {
  if (typeof text !== 'string') return []
  if (text.length > MAX_PIECES * PIECE_CHARS) return evenPieces(text, Math.ceil(text.length / MAX_PIECES))
  return text.match(/\s?[^\s]{1,8}|\s/gu) ?? []
}

function evenPieces(text: string, size: number): string[] {
  const out: string[] = []
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + size, text.length)
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end++
    out.push(text.slice(start, end))
    start = end
  }
  return out
}

/** Lists in turn, one element each: `[[a, b], [c]]` gives `[a, c, b]`. */
export function interleave<T>(lists: T[][]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, round) =>
    lists.flatMap((list) => list.slice(round, round + 1)),
  ).flat()
}
