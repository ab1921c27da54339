/** What a provider keeps in its cache for an hour costs more than what it keeps for five minutes: whoever prices is told. */
import Anthropic from '@anthropic-ai/sdk'
import type { TokenUsage } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { scriptedFetch } from 'hookspan/mock'
import { expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'

const WRITTEN = {
  inputTokens: 1_000,
  outputTokens: 10,
  cachedInputTokens: 100,
  cacheCreationInputTokens: 800,
  cacheCreation1hInputTokens: 700,
}

it.each([false, true])('and it is in the sums of the run; stream: %s', async (stream) => {
  using setup = traced({}, { priceOf: ({ usage }) => (usage.cacheCreation1hInputTokens ?? 0) / 1_000 })
  const { dispatcher } = setup
  const fetch = scriptedFetch({ steps: Array.from({ length: 2 }, () => ({ content: 'ok', usage: WRITTEN })) })
  const client = new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 })
  observeAnthropic(client, { dispatcher })
  const told: TokenUsage[] = []
  dispatcher.use({
    name: 'sees',
    hooks: [{ id: 'sees', type: 'onComplete', handler: ({ totals }) => void told.push(totals!.usage) }],
  })
  const ask = async () => {
    const reply = await client.messages.create({
      model: 'claude-x',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'hi' }],
      stream,
    })
    if ('controller' in reply) for await (const _event of reply);
  }
  const op = dispatcher.startOperation({ agentName: 'a' })
  await op.run(async () => {
    await ask()
    await ask()
  })
  await op.complete()
  expect(told).toEqual([
    {
      inputTokens: 2_000,
      outputTokens: 20,
      cachedInputTokens: 200,
      cacheCreationInputTokens: 1_600,
      cacheCreation1hInputTokens: 1_400,
    },
  ])
  const [call] = setup.spans().filter(({ name }) => name === 'chat claude-x')
  expect(call?.attributes).toMatchObject({
    'gen_ai.usage.cache_creation.input_tokens': 800,
    'hookspan.usage.cache_creation_1h.input_tokens': 700,
    'hookspan.cost_usd': 0.7,
  })
})
