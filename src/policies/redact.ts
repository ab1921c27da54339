import { ToolResult } from '../dispatcher/index.ts'
import { type Decision, type Gate, type GateContext, type GatePoint, mutate } from '../gates/index.ts'
import { a, type Fields } from '../internal/expect.ts'
import { isBytes, toContent } from '../internal/json.ts'
import { defined, isRecord } from '../internal/objects.ts'
import { isError } from '../internal/realms.ts'
import { REDACT_KINDS, type RedactKind, withoutKind } from './known-forms.ts'
import { common, READY, type ReadyGateOptions } from './options.ts'
import { linearPattern } from './patterns.ts'

export type RedactPlace = 'modelInput' | 'modelOutput' | 'toolResult' | 'toolArguments'

export interface RedactOptions extends ReadyGateOptions {
  /**
   * Where. A tool that throws has no result: what its error says is cleaned on its way to the model, by `modelInput`,
   * and nowhere else. @default ['modelInput', 'modelOutput', 'toolResult']
   */
  in?: readonly RedactPlace[]
  /** What is known by form. @default all */
  kinds?: readonly RedactKind[]
  /** More, by the name that stands in for it. RE2 syntax. */
  patterns?: Readonly<Record<string, string | RegExp>>
  /** What stands in; `{name}` is the kind. @default '[{name}]' */
  replacement?: string
}

const POINTS: Readonly<Record<RedactPlace, GatePoint>> = {
  modelInput: 'beforeLlmCall',
  modelOutput: 'afterLlmCall',
  toolResult: 'afterToolCall',
  toolArguments: 'beforeToolCall',
}

export const REDACT: Fields<RedactOptions> = {
  ...READY,
  in: a.someOf(...Object.keys(POINTS)),
  kinds: a.someOf(...REDACT_KINDS),
  patterns: a.object,
  replacement: a.string,
}

/** Fields of a model request, of any provider, in which people's words are. */
const INPUT_FIELDS = [
  'messages',
  'input',
  'values',
  'query',
  'documents',
  'system',
  'instructions',
  'prompt',
  'contents',
  'systemInstruction',
  'system_instruction',
  'systemPrompt',
  'prediction',
  'suffix',
]
/** Fields of a reply; the calls it asks for keep their arguments, or the tools would not work. */
const OUTPUT_FIELDS = ['content', 'reasoning', 'refusal', 'parts', 'providerToolCalls', 'alternatives']

/**
 * Replaces what must not go to a model, or come from one, or out of a tool: by form (mail addresses, card numbers that
 * check, keys) and by patterns of your own.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * redact({ in: ['toolResult'], kinds: ['email', 'creditCard'], patterns: { 'order number': 'ORD-\\d{6}' } })
 */
export function redact(options: RedactOptions = {}): Gate {
  const gate = common(options, REDACT, 'redact')
  const places = options.in ?? ['modelInput', 'modelOutput', 'toolResult']
  const kinds = options.kinds ?? REDACT_KINDS
  const clean = cleaner(kinds, options, `gate "${gate.id}"`)
  return {
    ...gate,
    point: places.map((place) => POINTS[place]),
    decide: (ctx) => redacted(ctx, ctx.point === 'afterToolCall' ? clean.result : clean.other),
  }
}

type CleanText = (text: string) => string

interface Clean {
  readonly text: CleanText
  /** Names of fields: a table by mail address tells the addresses. */
  readonly name: CleanText
}

/** What is known by form is never a name that an API or a tool goes by; a pattern of one's own may be. */
function cleaner(kinds: readonly RedactKind[], options: RedactOptions, owner: string) {
  const text = textCleaner(kinds, options, owner)
  const known = textCleaner(kinds, { ...options, patterns: {} }, owner)
  return { result: { text, name: text }, other: { text, name: known } }
}

function textCleaner(kinds: readonly RedactKind[], options: RedactOptions, owner: string): CleanText {
  const { replacement = '[{name}]' } = options
  const own = Object.entries(options.patterns ?? {}).map(([name, pattern]) => ({
    pattern: linearPattern(pattern, owner),
    standIn: replacement.replaceAll('{name}', name),
  }))
  return (text) => {
    let clean = text
    for (const { pattern, standIn } of own) clean = pattern.replace(clean, standIn)
    for (const kind of kinds) clean = withoutKind(clean, kind, replacement.replaceAll('{name}', kind))
    return clean
  }
}

function redacted({ point, payload, content, success }: GateContext, clean: Clean): Decision | undefined {
  if (point === 'beforeLlmCall' || point === 'afterLlmCall') {
    const whole = payload as Record<string, unknown>
    const fields = point === 'beforeLlmCall' ? INPUT_FIELDS : OUTPUT_FIELDS
    const changed: Record<string, unknown> = {}
    for (const field of fields) {
      if (whole[field] === undefined) continue
      const value = cleanDeep(whole[field], clean)
      if (value !== whole[field]) changed[field] = value
    }
    // Google's client has them with the settings, of which the rest is nobody's words.
    const { config } = whole
    if (point === 'beforeLlmCall' && isRecord(config) && config.systemInstruction !== undefined) {
      const systemInstruction = cleanDeep(config.systemInstruction, clean)
      if (systemInstruction !== config.systemInstruction) changed.config = { ...config, systemInstruction }
    }
    if (Object.keys(changed).length === 0) return undefined
    return mutate(point === 'beforeLlmCall' ? changed : { ...whole, ...changed })
  }
  const value = cleanDeep(payload, clean)
  if (content === undefined) return value === payload ? undefined : mutate(value)
  const told = clean.text(content)
  if (value === payload && told === content) return undefined
  return mutate(new ToolResult({ content: told, data: value, ...defined({ success }) }))
}

/** The same value when nothing in it changes. */
function cleanDeep(value: unknown, clean: Clean): unknown {
  if (typeof value === 'string') return clean.text(value)
  if (typeof value === 'number') {
    const text = clean.text(String(value))
    return text === String(value) ? value : text
  }
  if (isBytes(value)) return value
  if (Array.isArray(value)) {
    const list = value.map((item) => cleanDeep(item, clean))
    return list.some((item, i) => !Object.is(item, value[i])) ? list : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (isError(value)) {
    // A result that the model is told by its message, which is no field of its own.
    const told = toContent(value)
    const cleaned = clean.text(told)
    return cleaned === told ? value : cleaned
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    // What the model is told of it is what this gives.
    const told = (value as { toJSON(): unknown }).toJSON()
    if (told !== value) {
      const cleaned = cleanDeep(told, clean)
      if (cleaned === told) return value
      // Who asked for a text has one; an SDK that has an address takes a text in its place for base64.
      return value instanceof URL && URL.canParse(String(cleaned)) ? new URL(String(cleaned)) : cleaned
    }
  }
  return cleanFields(value as Record<string, unknown>, clean)
}

const BASE64 = /^[\w+/-]+={0,2}$/
/** To its end: what stands behind it would be words. */
const MEDIA_URL = /^data:(?!text\/)[\w.+/-]{1,100};base64,[\w+/-]+={0,2}$/i
const MEDIA_TYPES = ['mimeType', 'mime_type', 'mediaType', 'media_type'] as const
const WORDS = /^text\/|json|xml/
const SOUNDS = new Set<unknown>(['wav', 'mp3'])

/** Pictures, files and sounds as base64, in the words of any API: in enough letters a pattern finds something by chance. */
function isMedia(given: unknown, key: string, beside: Record<string, unknown>): boolean {
  // The AI SDK's, since its version 7.
  const value = isRecord(given) && given.type === 'data' ? given.data : given
  if (typeof value !== 'string') return false
  if (value.startsWith('data:')) return MEDIA_URL.test(value)
  if (key !== 'data' && key !== 'blob') return false
  const type = MEDIA_TYPES.map((name) => beside[name]).find((one) => typeof one === 'string')
  const isNamed = type === undefined ? SOUNDS.has(beside.format) : !WORDS.test(String(type))
  return isNamed && BASE64.test(value)
}

/** Names that become the same are counted. */
function cleanFields(value: Record<string, unknown>, clean: Clean): Record<string, unknown> {
  const cleaned: Record<string, unknown> = {}
  let changed = false
  for (const [key, item] of Object.entries(value)) {
    const told = clean.name(key)
    let name = told
    if (told !== key) for (let n = 2; name in cleaned || name in value; n++) name = `${told} ${n}`
    const cleanItem = isMedia(item, key, value) ? item : cleanDeep(item, clean)
    const field = { value: cleanItem, enumerable: true, writable: true, configurable: true }
    Object.defineProperty(cleaned, name, field)
    changed ||= name !== key || !Object.is(field.value, item)
  }
  return changed ? cleaned : value
}
