import type { LlmRequest, LlmResponse, TokenUsage, ToolCallRequest } from '../hooks/values.ts'
import { jsonIn, toContent } from '../internal/json.ts'
import { isRecord } from '../internal/objects.ts'

/** What is understood of a model's reply, whoever made it. */
export interface LlmReading {
  readonly response: LlmResponse
  /** The response without what was said, where that is known before all of it is read. */
  readonly head?: LlmHead
  readonly usage?: TokenUsage
  /** US dollars, where whoever reads the reply knows. */
  readonly costUsd?: number
  /** US dollars, as the reply itself says. A `0` counts where no `priceOf` knows better. */
  readonly reportedCostUsd?: number
}

/** What a reply says of itself. */
export type LlmHead = Pick<LlmResponse, 'id' | 'model' | 'finishReasons' | 'conversationId'>

export type Loose = Record<string, unknown>

export function asObject(value: unknown): Loose | undefined {
  return isRecord(value) ? value : undefined
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects of a list. */
export function asObjects(value: unknown): readonly Loose[] {
  return asList(value).filter(isRecord)
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A text that says something: compatible servers send `''` for an id or a reason that they do not have. */
export function asName(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** The provider's id of a conversation, which a request names and a reply tells of as an object. */
export function conversationOf({ conversation }: Loose): string | undefined {
  return asName(conversation) ?? asName(asObject(conversation)?.id)
}

/** Texts as one; undefined where there is none. */
export function joined(texts: readonly (string | undefined)[], separator = ''): string | undefined {
  const said = texts.filter((text) => text !== undefined)
  return said.length > 0 ? said.join(separator) : undefined
}

/** The model's arguments as a value; its own text where that is no JSON, so that nothing is lost. */
export function parseArguments(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? {}
  return text === '' ? {} : jsonIn(text, text)
}

/**
 * The model's arguments as a value where its JSON is the model's text again, else the text: a value loses spaces,
 * the digits of numbers and keys given twice. A string is always the text.
 */
export function exactArguments(text: unknown): unknown {
  const value = parseArguments(text)
  return typeof text === 'string' && !saysExactly(value, text) ? text : value
}

/** Arguments for a `ToolCallRequest`. */
export function argumentsOf(text: unknown): { args: unknown; argsText?: string } {
  const args = parseArguments(text)
  return typeof text !== 'string' || text === args || saysExactly(args, text)
    ? { args }
    : { args, argsText: text }
}

/** Arguments as a model writes them: its own text where that is known, and says what they are. */
export function argumentsText({ args, argsText }: Pick<ToolCallRequest, 'args' | 'argsText'>): string {
  // Who changes the one (a gate does) may leave the other as it was.
  if (argsText !== undefined && toContent(parseArguments(argsText)) === toContent(args)) return argsText
  return args === undefined ? '{}' : toContent(args)
}

function saysExactly(value: unknown, text: string): boolean {
  return typeof value !== 'string' && JSON.stringify(value) === text
}

/** Without what is not there: undefined fields and empty lists. */
export function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  const result: Loose = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) result[key] = value
  }
  return result as T
}

/**
 * A field whose value is made when somebody reads it, and is a field like any other from then on: most requests are
 * only counted.
 */
export function readLater(object: Loose, key: string, make: () => unknown): void {
  const field = { enumerable: true, configurable: true }
  Object.defineProperty(object, key, {
    ...field,
    get() {
      const value = make()
      Object.defineProperty(object, key, { ...field, value, writable: true })
      return value
    },
  })
}

/** Under which names an API counts tokens: a field, or a field in an object. */
export type UsageNames = readonly (readonly [usage: keyof TokenUsage, outer: string, inner?: string])[]

export function readUsage(value: unknown, names: UsageNames): TokenUsage | undefined {
  const counts = asObject(value)
  if (counts === undefined) return undefined
  const usage: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = { inputTokens: 0, outputTokens: 0 }
  let known = false
  for (const name of names) {
    const [field, outer] = name
    const inner = name[2]
    const given = inner === undefined ? counts[outer] : asObject(counts[outer])?.[inner]
    const count = asCount(given)
    if (count === undefined || count < 0) {
      // What is there and is no count stands for some that nobody knows, as -1 of some servers: it is not none.
      if ((given ?? undefined) !== undefined && (field === 'inputTokens' || field === 'outputTokens'))
        return undefined
      continue
    }
    usage[field] = count
    known ||= field === 'inputTokens' || field === 'outputTokens'
  }
  return known ? usage : undefined
}

/**
 * Output, as the conventions count it: some (xAI, Gemini asked as OpenAI is, or as LangChain tells it) have what a model thought in
 * the total alone. It is paid for all the same.
 *
 * @param model of the reply: Gemini does not say how many these were.
 */
export function withThoughts(
  usage: TokenUsage,
  total: unknown,
  model = '',
  thought = usage.reasoningTokens,
): TokenUsage {
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage
  const more = (asCount(total) ?? 0) - inputTokens - outputTokens
  const known = thought || (GEMINI.test(model) ? more : thought)
  // Others have cached input in the total alone.
  if (more <= 0 || more !== known || cachedInputTokens > inputTokens) return usage
  return { ...usage, outputTokens: outputTokens + more, reasoningTokens: more }
}

const GEMINI = /^((models|google)\/)?gemini-/

/** What was written to a cache that is kept for an hour, in the words of Anthropic's API, and in those of Bedrock. */
export function keptForAnHour(usage: unknown): number | undefined {
  const { cache_creation: written, cacheDetails: details } = asObject(usage) ?? {}
  const said = asCount(asObject(written)?.ephemeral_1h_input_tokens)
  if (said !== undefined || !Array.isArray(details)) return said
  const counts = asObjects(details).map(({ ttl, inputTokens }) =>
    ttl === '1h' ? (asCount(inputTokens) ?? 0) : 0,
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The other way round. */
export function writeUsage(usage: TokenUsage, names: UsageNames): Loose {
  const counts: Loose = {}
  for (const [field, outer, inner] of names) {
    const count = usage[field]
    if (count === undefined) continue
    counts[outer] = inner === undefined ? count : { ...asObject(counts[outer]), [inner]: count }
  }
  return counts
}

/** The model that is asked: another one than was to be, where a gate changed the request's. */
export function modelAsked(model: string, before?: LlmRequest, request?: LlmRequest): string {
  if (request === before || request?.model === before?.model) return model
  return asName(request?.model) ?? model
}
