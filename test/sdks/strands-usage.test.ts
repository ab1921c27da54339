import Anthropic from '@anthropic-ai/sdk'
import { HookDispatcher } from 'hookspan'
import { observeStrands } from 'hookspan/strands'
import { expect, it } from 'vitest'
import type { Untyped } from './support/sdks.ts'

const sdk = '@strands-agents/sdk'
const { Agent }: Untyped = await import(sdk)
const { AnthropicModel }: Untyped = await import(`${sdk}/models/anthropic`)

/** As Anthropic counts: what is read from its cache, and written to it, is beside `input_tokens`. */
const USAGE = {
  input_tokens: 10,
  output_tokens: 1,
  cache_read_input_tokens: 5_000,
  cache_creation_input_tokens: 200,
}

const EVENTS = [
  { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: USAGE } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
]

it("counts the cached tokens of the SDK's Anthropic model, of which its own sum has none", async () => {
  const told: unknown[] = []
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'counts',
    hooks: [{ id: 'counts', type: 'afterLlmCall', handler: ({ usage }) => void told.push(usage) }],
  })
  let asked = 0
  const fetch = async () => {
    asked++
    const body = EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const model = new AnthropicModel({
    client: new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }),
    modelId: 'claude-sonnet-4-5',
    maxTokens: 100,
  })
  const agent: Untyped = new Agent({ model, printer: false })
  observeStrands(agent, { dispatcher })
  await agent.invoke('go')
  expect(asked).toBe(1)
  expect(told).toEqual([
    { inputTokens: 5_210, outputTokens: 4, cachedInputTokens: 5_000, cacheCreationInputTokens: 200 },
  ])
})
