import type { PriceOf } from '../dispatcher/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { tellsCost } from '../wire/told-cost.ts'
import type { Agent } from './types.ts'

export { installedPrices } from '../wire/prices.ts'

/** @throws HookspanError `INVALID_OPTION` when the agent has a cost limit that nothing can hold. */
export function assertPriced(agent: Agent, provider: string, prices: PriceOf | undefined): void {
  const { name, model, maxCostUsd } = agent
  if (maxCostUsd === undefined || tellsCost(provider)) return
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
