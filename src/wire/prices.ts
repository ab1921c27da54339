/** What model calls cost, by the price library that is an optional peer. */

import { readFileSync } from 'node:fs'
import { createRequire as requireFrom } from 'node:module'
import { dirname, join } from 'node:path'
import type { TokenUsage } from '../hooks/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import { requirePeer } from '../internal/require-peer.ts'

type GenaiPrices = typeof import('@pydantic/genai-prices')
type ModelPrice = Priced['model_price']
type Priced = NonNullable<ReturnType<GenaiPrices['calcPrice']>>

/** Where the price library calls a provider by another name than OpenTelemetry does. */
const LIBRARY_NAMES: Readonly<Record<string, string>> = {
  'azure.ai.openai': 'azure',
  'azure.ai.inference': 'azure',
  x_ai: 'x-ai',
  mistral_ai: 'mistral',
  moonshot_ai: 'moonshotai',
  'gcp.gemini': 'google',
  'gcp.vertex_ai': 'google',
  'aws.bedrock': 'aws',
}

/** As the dispatcher's `PriceOf`; with the time of a call that is over, by the prices of that time. */
export type InstalledPrices = (call: {
  provider: string
  model: string
  usage: TokenUsage
  reportedCostUsd?: number
  atMs?: number
}) => number | undefined

let installed: InstalledPrices | null | undefined

/** Prices of `@pydantic/genai-prices`, undefined when that optional peer is not installed. */
export function installedPrices(): InstalledPrices | undefined {
  installed ??= load()
  return installed ?? undefined
}

function load(): InstalledPrices | null {
  try {
    return pricesOf(requirePeer<GenaiPrices>('@pydantic/genai-prices', 'the cost of a model call'))
  } catch (error) {
    if (error instanceof HookspanError && error.code === 'MISSING_DEPENDENCY') return null
    throw error
  }
}

function pricesOf({ calcPrice }: GenaiPrices): InstalledPrices {
  const known = new Map<string, FlatPrices>()
  // Calls of the same model come one after the other.
  let last = { provider: '', model: '', key: ' ' }
  return ({ provider, model, usage, reportedCostUsd, atMs }) => {
    // It knows the price of a model, not whether a gateway takes it: some give it away.
    if (reportedCostUsd !== undefined) return reportedCostUsd
    if (provider !== last.provider || model !== last.model)
      last = { provider, model, key: `${provider} ${model}` }
    const { key } = last
    const flat = known.get(key)
    if (flat !== undefined && flat.until > performance.now()) {
      const costUsd = flatCost(flat, usage)
      if (costUsd !== undefined) return costUsd
    }
    const counts = {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      ...defined({
        cache_read_tokens: usage.cachedInputTokens,
        cache_write_tokens: usage.cacheCreationInputTokens,
        cache_write_1h_tokens: usage.cacheCreation1hInputTokens,
      }),
    }
    const [, vendor = provider, name = model] = (provider === 'gateway' && OF_GATEWAY.exec(model)) || []
    const library = LIBRARY_NAMES[vendor] ?? vendor
    try {
      const price = calcPrice(counts, library === 'google' ? name.replace(GOOGLES_PATH, '') : name, {
        // Without one the library goes by the model's name.
        ...(library !== '' && { providerId: library }),
        ...(atMs !== undefined && { timestamp: new Date(atMs) }),
      })
      const found = price && flatPrices(price)
      if (found && (flat !== undefined || known.size < MOST_KNOWN)) known.set(key, found)
      return price ? price.total_price + untoldHour(price.model_price, usage) : undefined
    } catch {
      // Counts that cannot be right, such as more cached tokens than tokens: no price rather than a wrong one.
      return undefined
    }
  }
}

/** Vercel's gateway, by which the AI SDK asks models that are named by a text, takes the prices of whose the model is. */
const OF_GATEWAY = /^([^/]+)\/(.+)$/

/** Google's models may be asked for by their path (`models/...`, `projects/.../models/...`), and on Vertex, as OpenAI is, as `google/...`. */
const GOOGLES_PATH = /^(.*\bmodels\/|google\/)/

const MOST_KNOWN = 1_000
/** The library's prices may be updated while a process runs. */
const KNOWN_FOR_MS = 60_000

/** US dollars per million tokens, the same at any time and for any count. */
interface FlatPrices {
  readonly input: number
  readonly cachedInput: number
  readonly cacheCreation: number
  readonly cacheCreation1h: number
  readonly output: number
  /** On the monotonic clock. */
  readonly until: number
}

/** Finding a model among all takes the library longer than all else that a model call costs us, so it is kept. */
function flatPrices({ model, model_price: prices }: Priced): FlatPrices | undefined {
  // A list depends on the date or the time of day, an object on the count, `requests_*` is paid per call.
  if (Array.isArray(model.prices)) return undefined
  const {
    input_mtok: input,
    output_mtok: output,
    cache_read_mtok: cachedInput = input,
    cache_write_mtok: cacheCreation = input,
  } = prices
  if (Object.keys(prices).some((unit) => unit.startsWith('requests'))) return undefined
  const numbers = { input, cachedInput, cacheCreation, output }
  if (Object.values(numbers).some((price) => typeof price !== 'number')) return undefined
  const { cache_write_1h_mtok: cacheCreation1h = HOUR * (input as number) } = prices
  if (typeof cacheCreation1h !== 'number') return undefined
  const flat = { ...(numbers as Omit<FlatPrices, 'cacheCreation1h' | 'until'>), cacheCreation1h }
  return { ...flat, until: performance.now() + KNOWN_FOR_MS }
}

/** What is kept for an hour costs twice the input, wherever Claude runs; the library says so of Anthropic's own API alone. */
const HOUR = 2

/** What the library, which takes the price of five minutes where it knows none of an hour, leaves out. */
function untoldHour(prices: ModelPrice, { inputTokens, cacheCreation1hInputTokens = 0 }: TokenUsage): number {
  if (cacheCreation1hInputTokens === 0 || prices.cache_write_1h_mtok !== undefined) return 0
  const input = priceAt(prices.input_mtok, inputTokens)
  const taken = priceAt(prices.cache_write_mtok ?? prices.input_mtok, inputTokens)
  return (cacheCreation1hInputTokens * (HOUR * input - taken)) / 1e6
}

function priceAt(price: ModelPrice[string], inputTokens: number): number {
  if (typeof price !== 'object') return price ?? 0
  return price.tiers.findLast(({ start }) => inputTokens > start)?.price ?? price.base
}

/** Undefined for counts that cannot be right. */
function flatCost(prices: FlatPrices, usage: TokenUsage): number | undefined {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheCreationInputTokens = 0 } = usage
  const { cacheCreation1hInputTokens = 0 } = usage
  const fresh = inputTokens - cachedInputTokens - cacheCreationInputTokens
  if (!(fresh >= 0 && cachedInputTokens >= 0 && cacheCreationInputTokens >= 0 && outputTokens >= 0))
    return undefined
  if (!(cacheCreation1hInputTokens >= 0 && cacheCreation1hInputTokens <= cacheCreationInputTokens))
    return undefined
  const { input, cachedInput, cacheCreation, cacheCreation1h, output } = prices
  const perMillion =
    input * fresh +
    cachedInput * cachedInputTokens +
    cacheCreation * (cacheCreationInputTokens - cacheCreation1hInputTokens) +
    cacheCreation1h * cacheCreation1hInputTokens +
    output * outputTokens
  return perMillion / 1e6
}

/** Which table of prices it is. */
export interface PriceTable {
  /** The package and its version. */
  source: string
  /** The day of the newest price in it that holds by now: the table is at least as new. */
  newest: string
}

/** Undefined where it is not installed. The package does not say when its table was made, so the table is asked. */
export function installedTable(now = new Date()): PriceTable | undefined {
  try {
    const entry = requireFrom(import.meta.url).resolve('@pydantic/genai-prices')
    const { version } = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8'))
    const today = now.toISOString().slice(0, 10)
    const days = [...readFileSync(entry, 'utf8').matchAll(/\bstart_date: ?"(\d{4}-\d\d-\d\d)"/g)].map(
      ([, day]) => day!,
    )
    const newest =
      days
        .filter((day) => day <= today)
        .sort()
        .at(-1) ?? ''
    return { source: `@pydantic/genai-prices ${version}`, newest }
  } catch {
    return undefined
  }
}
