import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import { installedPrices } from './prices.ts'

const MODELS = [
  ['openai', 'gpt-4o-mini'],
  ['openai', 'gpt-4o-mini-2024-07-18'],
  ['openai', 'o3'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-3-5-haiku-latest'],
  ['google', 'gemini-2.5-pro'],
  ['google', 'gemini-2.5-flash'],
  ['deepseek', 'deepseek-chat'],
  ['perplexity', 'sonar'],
] as const

const COUNTS = [
  { inputTokens: 0, outputTokens: 0 },
  { inputTokens: 1_234, outputTokens: 56 },
  { inputTokens: 1_234, outputTokens: 56, cachedInputTokens: 1_000 },
  { inputTokens: 300_000, outputTokens: 9, cachedInputTokens: 250_000 },
  { inputTokens: 9_000, outputTokens: 9, cachedInputTokens: 5_000, cacheCreationInputTokens: 3_000 },
]

describe('installedPrices', () => {
  it.each(MODELS)('prices %s %s as the library does, the first time and every other', (provider, model) => {
    const price = installedPrices()
    for (const usage of [...COUNTS, ...COUNTS]) {
      const { inputTokens: input_tokens, outputTokens: output_tokens, cachedInputTokens } = usage
      const { cacheCreationInputTokens } = usage
      const counts = {
        input_tokens,
        output_tokens,
        ...(cachedInputTokens !== undefined && { cache_read_tokens: cachedInputTokens }),
        ...(cacheCreationInputTokens !== undefined && { cache_write_tokens: cacheCreationInputTokens }),
      }
      const expected = calcPrice(counts, model, { providerId: provider })?.total_price
      expect(expected, `${provider} ${model}`).toBeTypeOf('number')
      expect(price?.({ provider, model, usage })).toBeCloseTo(expected as number, 12)
    }
  })

  it("prices models of Vercel's gateway as whose they are", () => {
    const price = installedPrices()
    const usage = { inputTokens: 1_000, outputTokens: 100 }
    const models = [
      ['openai', 'gpt-4o-mini'],
      ['anthropic', 'claude-sonnet-4.5'],
      ['google', 'gemini-2.5-flash'],
    ] as const
    for (const [provider, model] of models) {
      const costUsd = price?.({ provider: 'gateway', model: `${provider}/${model}`, usage })
      expect(costUsd).toBeCloseTo(price?.({ provider, model, usage }) as number, 12)
    }
    expect(price?.({ provider: 'gateway', model: 'gpt-4o-mini', usage })).toBeUndefined()
  })

  it.each([
    ['gcp.gemini', 'models/gemini-2.5-pro'],
    ['gcp.vertex_ai', 'google/gemini-2.5-pro'],
    ['gcp.vertex_ai', 'projects/p/locations/global/publishers/google/models/gemini-2.5-pro'],
  ])("prices Google's models by their paths: %s %s", (provider, model) => {
    const price = installedPrices()
    const usage = { inputTokens: 1_000, outputTokens: 100 }
    const costUsd = price?.({ provider, model: 'gemini-2.5-pro', usage })
    expect(costUsd).toBeTypeOf('number')
    expect(price?.({ provider, model, usage })).toBe(costUsd)
  })

  it.each([
    // By the table, by its price of the input, and by that of a long prompt.
    ['anthropic', 'claude-opus-4-5', 10_000, 0.01 * 5 + 0.02 * 6.25 + 0.07 * 10],
    ['aws.bedrock', 'global.anthropic.claude-opus-4-5-v1:0', 10_000, 0.01 * 5 + 0.02 * 6.25 + 0.07 * 10],
    ['gcp.vertex_ai', 'claude-sonnet-4-5', 10_000, 0.01 * 3 + 0.02 * 3.75 + 0.07 * 6],
    ['gcp.vertex_ai', 'claude-sonnet-4-5', 300_000, (0.01 * 6 + 0.02 * 7.5 + 0.07 * 12) * 30],
  ])(
    'prices what is kept in a cache for an hour at twice the input: %s %s',
    (provider, model, inputTokens, cents) => {
      const price = installedPrices()
      const usage = {
        inputTokens,
        outputTokens: 0,
        cacheCreationInputTokens: inputTokens * 0.9,
        cacheCreation1hInputTokens: inputTokens * 0.7,
      }
      for (const _time of [1, 2]) expect(price?.({ provider, model, usage })).toBeCloseTo(cents / 10, 12)
    },
  )

  it('gives no price for more that is kept for an hour than was written', () => {
    const price = installedPrices()
    const usage = {
      inputTokens: 9,
      outputTokens: 1,
      cacheCreationInputTokens: 3,
      cacheCreation1hInputTokens: 4,
    }
    for (const _time of [1, 2])
      expect(price?.({ provider: 'anthropic', model: 'claude-opus-4-5', usage })).toBeUndefined()
  })

  it('gives no price for more cached tokens than tokens, also of a model it has priced before', () => {
    const price = installedPrices()
    const usage = { inputTokens: 10, outputTokens: 1, cachedInputTokens: 11 }
    price?.({ provider: 'openai', model: 'gpt-4o-mini', usage: { inputTokens: 10, outputTokens: 1 } })
    expect(price?.({ provider: 'openai', model: 'gpt-4o-mini', usage })).toBeUndefined()
  })
})
