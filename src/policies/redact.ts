import { ToolResult } from '../dispatcher/index.ts'
import { type Decision, type Gate, type GateContext, type GatePoint, mutate } from '../gates/index.ts'
import { a, type Fields } from '../internal/expect.ts'
import { toContent } from '../internal/json.ts'
import { defined, isRecord } from '../internal/objects.ts'
import { common, READY, type ReadyGateOptions } from './options.ts'
import { linearPattern } from './patterns.ts'

export type RedactKind =
  | 'email'
  | 'creditCard'
  | 'iban'
  | 'usSsn'
  | 'ipAddress'
  | 'apiKey'
  | 'jwt'
  | 'privateKey'
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

/** Written so that none backtracks: each repetition is bounded or cannot overlap what follows it. */
const KINDS: Readonly<Record<RedactKind, { pattern: RegExp; valid?: (text: string) => boolean }>> = {
  privateKey: {
    pattern:
      /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\s{0,4}(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n){0,8}[^-]{1,10000}-----END [A-Z ]{0,20}PRIVATE KEY-----/g,
  },
  jwt: { pattern: /\beyJ[\w-]{8,4000}\.eyJ[\w-]{8,4000}\.[\w-]{8,4000}/g },
  apiKey: {
    pattern:
      /\b(?:sk-[\w-]{16,200}|gh[pousr]_\w{20,200}|github_pat_\w{20,200}|AKIA[0-9A-Z]{16}|xox[abeprs]-[\w-]{10,200}|AIza[\w-]{35}|glpat-[\w-]{20,64})/g,
  },
  email: { pattern: /\b[\w.%+-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9.-]{0,180}[a-zA-Z0-9])?\.[a-zA-Z]{2,24}\b/g },
  iban: { pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/g, valid: isIban },
  creditCard: { pattern: /\b\d(?:[ -]?\d){12,18}\b/g, valid: isCard },
  usSsn: { pattern: /\b\d{3}-\d{2}-\d{4}\b/g },
  ipAddress: { pattern: /\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b/g },
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
  kinds: a.someOf(...Object.keys(KINDS)),
  patterns: a.object,
  replacement: a.string,
}

/** Fields of a model request, of any provider, in which people's words are. */
const INPUT_FIELDS = [
  'messages',
  'input',
  'system',
  'instructions',
  'prompt',
  'contents',
  'systemInstruction',
  'system_instruction',
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
  const kinds = options.kinds ?? (Object.keys(KINDS) as RedactKind[])
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
    for (const kind of kinds) {
      const { pattern, valid } = KINDS[kind]
      const standIn = replacement.replaceAll('{name}', kind)
      clean = clean.replace(pattern, (found) => (valid === undefined || valid(found) ? standIn : found))
    }
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
  if (Array.isArray(value)) {
    const list = value.map((item) => cleanDeep(item, clean))
    return list.some((item, i) => !Object.is(item, value[i])) ? list : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) {
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
      return cleaned === told ? value : cleaned
    }
  }
  return cleanFields(value as Record<string, unknown>, clean)
}

/** Names that become the same are counted. */
function cleanFields(value: Record<string, unknown>, clean: Clean): Record<string, unknown> {
  const cleaned: Record<string, unknown> = {}
  let changed = false
  for (const [key, item] of Object.entries(value)) {
    const told = clean.name(key)
    let name = told
    if (told !== key) for (let n = 2; name in cleaned || name in value; n++) name = `${told} ${n}`
    const field = { value: cleanDeep(item, clean), enumerable: true, writable: true, configurable: true }
    Object.defineProperty(cleaned, name, field)
    changed ||= name !== key || !Object.is(field.value, item)
  }
  return changed ? cleaned : value
}

/** An issuer's first digit and the Luhn check, so that order numbers and timestamps stay. */
function isCard(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  if (!/^[2-6]/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** ISO 13616: the remainder by 97 is 1. */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '')
  const digits = [...plain.slice(4), ...plain.slice(0, 4)].map((char) => Number.parseInt(char, 36)).join('')
  let rest = 0
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97
  return rest === 1
}
