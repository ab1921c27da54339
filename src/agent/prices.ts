import type { PriceOf } from '../dispatcher/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { requirePeer } from '../internal/require-peer.ts'
import type { Agent } from './types.ts'

type GenaiPrices = typeof import('@pydantic/genai-prices')

/** Where the price library calls a provider by another name than OpenTelemetry does. */
const LIBRARY_NAMES: Readonly<Record<string, string>> = {
  'azure.ai.openai': 'azure',
  'azure.ai.inference': 'azure',
  x_ai: 'x-ai',
  mistral_ai: 'mistral',
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
  return ({ provider, model, usage }) => {
    const counts = {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      ...(usage.cachedInputTokens !== undefined && { cache_read_tokens: usage.cachedInputTokens }),
    }
    try {
      return calcPrice(counts, model, { providerId: LIBRARY_NAMES[provider] ?? provider })?.total_price
    } catch {
      // Counts that cannot be right, such as more cached tokens than tokens: no price rather than a wrong one.
      return undefined
    }
  }
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
