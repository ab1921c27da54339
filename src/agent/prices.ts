import type { PriceOf } from '../dispatcher/index.ts'
import type { TokenUsage } from '../hooks/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import { requirePeer } from '../internal/require-peer.ts'
import type { Agent } from './types.ts'

type GenaiPrices = typeof import('@pydantic/genai-prices')
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

let installed: PriceOf | null | undefined

/** Prices of `@pydantic/genai-prices`, undefined when that optional peer is not installed. */
export function installedPrices(): PriceOf | undefined {
  installed ??= load()
  return installed ?? undefined
}

function load(): PriceOf | null {
  try {
    return pricesOf(requirePeer<GenaiPrices>('@pydantic/genai-prices', 'hookspan/agent'))
  } catch (error) {
    if (error instanceof HookspanError && error.code === 'MISSING_DEPENDENCY') return null
    throw error
  }
}

function pricesOf({ calcPrice }: GenaiPrices): PriceOf {
  const known = new Map<string, FlatPrices>()
  return ({ provider, model, usage }) => {
    const key = `${provider} ${model}`
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
      }),
    }
    try {
      const price = calcPrice(counts, model, { providerId: LIBRARY_NAMES[provider] ?? provider })
      const found = price && flatPrices(price)
      if (found && (flat !== undefined || known.size < MOST_KNOWN)) known.set(key, found)
      return price?.total_price
    } catch {
      // Counts that cannot be right, such as more cached tokens than tokens: no price rather than a wrong one.
      return undefined
    }
  }
}

const MOST_KNOWN = 1_000
/** The library's prices may be updated while a process runs. */
const KNOWN_FOR_MS = 60_000

/** US dollars per million tokens, the same at any time and for any count. */
interface FlatPrices {
  readonly input: number
  readonly cachedInput: number
  readonly cacheCreation: number
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
  return { ...(numbers as Omit<FlatPrices, 'until'>), until: performance.now() + KNOWN_FOR_MS }
}

/** Undefined for counts that cannot be right. */
function flatCost(
  prices: FlatPrices,
  { inputTokens, outputTokens, cachedInputTokens = 0, cacheCreationInputTokens = 0 }: TokenUsage,
): number | undefined {
  const fresh = inputTokens - cachedInputTokens - cacheCreationInputTokens
  if (!(fresh >= 0 && cachedInputTokens >= 0 && cacheCreationInputTokens >= 0 && outputTokens >= 0))
    return undefined
  const { input, cachedInput, cacheCreation, output } = prices
  const perMillion =
    input * fresh +
    cachedInput * cachedInputTokens +
    cacheCreation * cacheCreationInputTokens +
    output * outputTokens
  return perMillion / 1e6
}

/** @throws HookspanError `INVALID_OPTION` when the agent has a cost limit that nothing can hold. */
export function assertPriced(agent: Agent, provider: string, prices: PriceOf | undefined): void {
  const { name, model, maxCostUsd } = agent
  if (maxCostUsd === undefined) return
  const told = `Agent "${name}" has \`maxCostUsd: ${maxCostUsd}\`, but`
  if (prices === undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `${told} no prices are known. Give \`execAgent\` a \`priceOf\`, or run: npm install @pydantic/genai-prices`,
    )
  }
  if (prices({ provider, model, usage: { inputTokens: 1_000, outputTokens: 1_000 } }) === undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `${told} no price is known for model "${model}" of provider "${provider}". Give \`execAgent\` a \`priceOf\` ` +
        'that knows it, or take the limit out.',
    )
  }
}

const warned = new Set<string>()

/** Once per model and process. */
export function warnOfUnknownPrice(provider: string, model: string): void {
  const key = `${provider} ${model}`
  if (warned.has(key) || warned.size > 1_000) return
  warned.add(key)
  console.warn(
    `hookspan: no price is known for model "${model}" of provider "${provider}", so no cost is reported. ` +
      'Give `execAgent`, or the dispatcher, a `priceOf` that knows it.',
  )
}
