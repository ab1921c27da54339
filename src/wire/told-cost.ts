/** What a provider or a gateway says that a call cost: it knows what it takes, where a table of prices guesses. */

import { readFields } from '../internal/objects.ts'
import { asObject, type Loose } from './reading.ts'

/** Providers whose replies all say what they cost, so that no table has to. */
const TELLS: ReadonlySet<string> = new Set(['gateway', 'openrouter', 'perplexity', 'x_ai'])

export function tellsCost(provider: string): boolean {
  return TELLS.has(provider)
}

/** Of xAI, in a dollar. */
const TICKS = 1e10

/** US dollars, beside the tokens that a reply counts; undefined where it does not say so. */
export function costBeside(usage: unknown): number | undefined {
  const said = asObject(usage)
  if (said === undefined) return undefined
  const { cost, cost_in_usd_ticks: ticks } = said
  const ticked = dollars(ticks)
  if (ticked !== undefined) return ticked / TICKS
  const parts = asObject(cost)
  if (parts !== undefined) {
    const { currency = 'USD', total_cost, totalCost = total_cost } = parts
    return currency === 'USD' ? dollars(totalCost) : undefined
  }
  return withOwnKey(dollars(cost), said)
}

/** With a key of the user's own, what is taken is a fee, and the provider is paid beside it: less than that, or nothing. */
function withOwnKey(
  taken: number | undefined,
  { is_byok, market_cost, costDetails, cost_details }: Loose,
): number | undefined {
  const { upstream_inference_cost, upstreamInferenceCost = upstream_inference_cost } =
    asObject(cost_details ?? costDetails) ?? {}
  const paid = dollars(upstreamInferenceCost) ?? dollars(market_cost)
  const isFee = is_byok ?? (taken !== undefined && paid !== undefined && taken < paid)
  if (isFee !== true) return taken
  return taken === undefined || paid === undefined ? undefined : taken + paid
}

/** As the AI SDK's models say it: in the provider's own words where these are kept, or in what is added to a reply. */
export function costOfModelReply({ usage, response, providerMetadata }: Loose): number | undefined {
  const { body, headers } = asObject(response) ?? {}
  const { gateway, openrouter, perplexity, xai } = asObject(providerMetadata) ?? {}
  return (
    costBeside(asObject(body)?.usage) ??
    costBeside(asObject(usage)?.raw) ??
    costOfGateway(asObject(gateway) ?? {}) ??
    costBeside(asObject(openrouter)?.usage) ??
    costBeside(perplexity) ??
    costBeside({ cost_in_usd_ticks: asObject(xai)?.costInUsdTicks }) ??
    costInHeaders(headers)
  )
}

/** Vercel's takes nothing for a call with a key of the user's own. That costs about what it does on the market. */
function costOfGateway({ cost, marketCost }: Loose): number | undefined {
  return dollars(cost) || dollars(marketCost) || dollars(cost)
}

/** As LiteLLM's proxy says it: not of a stream, whose head is sent before. */
const COST_HEADER = 'x-litellm-response-cost'

/** @param headers of a response, or as an object. */
export function costInHeaders(headers: unknown): number | undefined {
  const { get, [COST_HEADER]: said } = readFields(headers, ['get', COST_HEADER])
  try {
    return dollars(typeof get === 'function' ? get.call(headers, COST_HEADER) : said)
  } catch {
    // No headers that can be read.
    return undefined
  }
}

/** Some say it as a text. */
function dollars(value: unknown): number | undefined {
  const amount = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : undefined
}
