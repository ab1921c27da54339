/** Deeper, and with more keys in an object, it is the engine that looks. */
const MAX_DEPTH = 32
const MAX_KEYS = 32
/** As many digits of a decimal come back from a number as they went in. */
const MAX_DIGITS = 15
/** A smaller number is written with an exponent. */
const MAX_DECIMALS = 6

const QUOTE = 0x22
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const LIST = 0x5b
const BACKSLASH = 0x5c
const OBJECT = 0x7b

/** Where a text is not surely what the engine would write. */
const UNSURE = -1

/**
 * Whether a text is an object's JSON as `JSON.stringify` writes it, byte for byte. Most results of tools are, and are
 * walked through once; where that leaves a doubt, the text is parsed and written again.
 */
export function isExactObject(text: string): boolean {
  if (text.charCodeAt(0) !== OBJECT) return false
  // A lone surrogate would be written in another way.
  if (text.isWellFormed() && afterObject(text, 0, 0) === text.length) return true
  try {
    return JSON.stringify(JSON.parse(text)) === text
  } catch {
    return false
  }
}

function afterValue(text: string, at: number, depth: number): number {
  switch (text.charCodeAt(at)) {
    case QUOTE:
      return afterString(text, at)
    case OBJECT:
      return afterObject(text, at, depth)
    case LIST:
      return afterList(text, at, depth)
    case 0x74:
      return text.startsWith('true', at) ? at + 4 : UNSURE
    case 0x66:
      return text.startsWith('false', at) ? at + 5 : UNSURE
    case 0x6e:
      return text.startsWith('null', at) ? at + 4 : UNSURE
    default:
      return afterNumber(text, at)
  }
}

function afterObject(text: string, start: number, depth: number): number {
  if (text.charCodeAt(start + 1) === 0x7d) return start + 2
  if (depth > MAX_DEPTH) return UNSURE
  const keys: string[] = []
  for (let at = start + 1; ; at++) {
    const end = afterKey(text, at, keys)
    if (end === UNSURE) return UNSURE
    at = afterValue(text, end, depth + 1)
    if (at === UNSURE) return UNSURE
    const next = text.charCodeAt(at)
    if (next === 0x7d) return at + 1
    if (next !== 0x2c) return UNSURE
  }
}

/** A key that stands there twice is written once, and one that is a number before the others. */
function afterKey(text: string, start: number, keys: string[]): number {
  if (text.charCodeAt(start) !== QUOTE || isDigit(text.charCodeAt(start + 1))) return UNSURE
  const end = afterString(text, start)
  if (end === UNSURE || text.charCodeAt(end) !== 0x3a || keys.length === MAX_KEYS) return UNSURE
  const key = text.slice(start, end)
  for (let i = 0; i < keys.length; i++) if (keys[i] === key) return UNSURE
  keys.push(key)
  return end + 1
}

function afterList(text: string, start: number, depth: number): number {
  if (text.charCodeAt(start + 1) === 0x5d) return start + 2
  if (depth > MAX_DEPTH) return UNSURE
  for (let at = start + 1; ; at++) {
    at = afterValue(text, at, depth + 1)
    if (at === UNSURE) return UNSURE
    const next = text.charCodeAt(at)
    if (next === 0x5d) return at + 1
    if (next !== 0x2c) return UNSURE
  }
}

function afterString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < 0x20) return UNSURE
    // Of what may be escaped in two ways, the engine writes one.
    if (code === BACKSLASH && !'"\\bfnrt'.includes(text.charAt(++at))) return UNSURE
  }
  return UNSURE
}

function afterNumber(text: string, start: number): number {
  const isNegative = text.charCodeAt(start) === MINUS
  const first = isNegative ? start + 1 : start
  const point = afterDigits(text, first)
  const isZero = text.charCodeAt(first) === ZERO
  if (point === first || (isZero && point > first + 1)) return UNSURE
  if (text.charCodeAt(point) !== POINT) {
    return point - first > MAX_DIGITS || (isZero && isNegative) || isExponent(text, point) ? UNSURE : point
  }
  const end = afterDigits(text, point + 1)
  const decimals = end - point - 1
  const isShortest = decimals > 0 && decimals <= MAX_DECIMALS && text.charCodeAt(end - 1) !== ZERO
  return isShortest && end - first - 1 <= MAX_DIGITS && !isExponent(text, end) ? end : UNSURE
}

function afterDigits(text: string, start: number): number {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

function isExponent(text: string, at: number): boolean {
  return (text.charCodeAt(at) | 0x20) === 0x65
}
