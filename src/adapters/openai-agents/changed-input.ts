import { isRecord } from '../../internal/objects.ts'
import { asObjects, type Loose } from '../../wire/reading.ts'
import { patched, sameJson } from '../../wire/rewrite.ts'
import { type Changed, changedTexts, overlap, without } from '../said-again.ts'
import type { Item, ModelRequest } from './sdk.ts'
import { fromWire, isToldRaw, toWire } from './words.ts'

/**
 * The conversation that gates decided on. One that they left is the very item that it was, and of one that they changed
 * stays what they are not told: signatures of thoughts, encrypted reasoning, what is to be cached, who called a tool.
 */
export function inputFromWire(before: ModelRequest['input'], input: unknown): unknown {
  if (!Array.isArray(input)) return input
  const items = typeof before === 'string' ? [] : before
  const told = items.map(toWire)
  const decided = asObjects(input)
  const froms = originsOf(told, decided)
  const gone = goneFrom(told, decided, froms)
  return decided.map((item, at) => {
    const from = froms[at]
    if (from === undefined) return fromWire(item, decided)
    const [origin, was] = [items[from] as Item, told[from] as Loose]
    const made = sameJson(was, item) ? origin : changed(origin, [was, told], [item, decided])
    return withoutSaid(made, gone, standsIn) as Item
  })
}

/** For each item that was decided on, which one it was before. */
function originsOf(told: readonly Loose[], decided: readonly Loose[]): (number | undefined)[] {
  const free = new Set(told.keys())
  const take = (at: number | undefined) => {
    if (at !== undefined) free.delete(at)
    return at
  }
  const same = decided.map((item) => take([...free].find((at) => sameJson(told[at], item))))
  const names = told.map(nameOf)
  return decided.map((item, at) => {
    if (same[at] !== undefined) return same[at]
    const [one] = told.length === decided.length && free.has(at) ? told.slice(at, at + 1) : []
    if (one?.type === item.type && one?.role === item.role) return take(at)
    const name = nameOf(item)
    const known = name === undefined ? [] : [...free].filter((index) => names[index] === name)
    return known.length === 1 ? take(known[0]) : undefined
  })
}

function nameOf({ type, call_id, id }: Loose): string | undefined {
  const name = call_id ?? id
  return name === undefined ? undefined : JSON.stringify([type, name])
}

/** Where a text says what it says once more, or at which of its signs something is. */
const ABOUT_TEXT = new Set(['annotations', 'citations', 'logprobs'])

function changed(
  origin: Item,
  [was, told]: readonly [Loose, readonly Loose[]],
  [now, decided]: readonly [Loose, readonly Loose[]],
): Item {
  const [from, to] = [fromWire(was, told, origin), fromWire(now, decided, origin)]
  const made = patched(origin, from, to) as Loose
  if (Array.isArray(to.content)) made.content = partsOf(origin.content, from.content, to.content)
  if (isToldRaw(origin)) return { ...made, content: origin.content, rawContent: to.content }
  const gone = changedTexts(was, now)
  const { rawContent } = made
  if (Array.isArray(rawContent) && without({ rawContent }, gone)?.rawContent === undefined) {
    delete made.rawContent
  }
  return withoutSaid(made, gone, overlap) as Item
}

/** A part that stays keeps its own, wherever it stands now. */
function partsOf(raw: unknown, was: unknown, now: readonly unknown[]): readonly unknown[] {
  const [parts, known] = [asObjects(raw), asObjects(was)]
  if (parts.length === 0 || parts.length !== known.length) return now
  return now.map((part, at) => {
    const same = known.findIndex((one) => sameJson(one, part))
    if (same >= 0) return parts[same]
    const isIt = now.length === known.length && isRecord(part) && part.type === known[at]?.type
    if (!isIt) return part
    const { providerData, ...rest } = patched(parts[at], known[at], part) as Loose
    if (!isRecord(providerData)) return rest
    const left = Object.entries(providerData).filter(([key]) => !ABOUT_TEXT.has(key))
    return { ...rest, providerData: Object.fromEntries(left) }
  })
}

/** What is said nowhere any more; of what was taken out whole, only what it said. */
function goneFrom(
  told: readonly Loose[],
  decided: readonly Loose[],
  froms: readonly (number | undefined)[],
): Changed {
  return told.flatMap((was, index) => {
    const at = froms.indexOf(index)
    if (at >= 0) return changedTexts(was, decided[at])
    const { arguments: args, output, content } = was
    const texts = typeof content === 'string' ? content : asObjects(content).map(({ text }) => text)
    return changedTexts([args, output, texts], [])
  })
}

/** Of items beside: of chat completions each text holds all that its message said, calls as well. A word may be anywhere. */
function standsIn(value: string, was: string): boolean {
  return was.length > 4 && value.includes(was)
}

/** The same object where none of it was said. */
function withoutSaid(value: unknown, gone: Changed, saysAgain: typeof overlap): unknown {
  if (gone.length === 0) return value
  if (Array.isArray(value)) {
    const made = value.map((one) => withoutSaid(one, gone, saysAgain))
    return made.some((one, at) => one !== value[at]) ? made : value
  }
  if (!isRecord(value)) return value
  const made: Loose = {}
  for (const [key, one] of Object.entries(value)) {
    const left =
      key === 'providerData' && isRecord(one)
        ? without(one, gone, saysAgain)
        : withoutSaid(one, gone, saysAgain)
    const isWhole = isRecord(one) && isRecord(left) && Object.keys(one).length === Object.keys(left).length
    made[key] = key === 'providerData' && isWhole ? one : left
  }
  return Object.keys(made).some((key) => made[key] !== value[key]) ? made : value
}
