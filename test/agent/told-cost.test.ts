import { HookDispatcher } from 'hookspan'
import { type Agent, execAgent } from 'hookspan/agent'
import { mutate } from 'hookspan/gates'
import { observeOpenAI } from 'hookspan/openai'
import { budget } from 'hookspan/policies'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'

/** A gateway: its name of a model is in no table of prices. */
const MODEL = 'our-alias'
const TOKENS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const act = { id: 'c', type: 'function', function: { name: 'act', arguments: '{}' } }
const agent: Agent = { name: 'a', model: MODEL, tools: [{ name: 'act', execute: () => 'ok' }] }

interface Answer {
  readonly usage?: object
  readonly headers?: Record<string, string>
}

/** Asks for a tool each time. */
function gateway({ usage = {}, headers = {} }: Answer, baseURL = 'https://openrouter.ai/api/v1') {
  let requests = 0
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    requests++
    const { stream } = JSON.parse(String(init?.body))
    const about = { id: 'gen-1', model: 'vendor/model', usage: { ...TOKENS, ...usage } }
    if (!stream) {
      const message = { role: 'assistant', content: 'one moment', tool_calls: [act] }
      return Response.json(
        {
          ...about,
          object: 'chat.completion',
          choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
        },
        { headers },
      )
    }
    const delta = { content: 'one moment', tool_calls: [{ index: 0, ...act }] }
    const choices = [{ index: 0, delta, finish_reason: 'tool_calls' }]
    const { usage: counted, ...rest } = about
    const chunks = [
      { ...rest, choices },
      { ...rest, choices: [], usage: counted },
    ]
    const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
    return new Response(`${text}data: [DONE]\n\n`, {
      headers: { ...headers, 'content-type': 'text/event-stream' },
    })
  }
  return { client: new OpenAI({ apiKey: 'x', baseURL, fetch, maxRetries: 0 }), asked: () => requests }
}

it.each([{}, { stream: true }])(
  'a cost that the provider says holds `maxCostUsd`, with no price known: %j',
  async (way) => {
    const { client, asked } = gateway({ usage: { cost: 0.01, is_byok: false } })
    const limited = { ...agent, ...way, maxCostUsd: 0.02 }
    const run = await execAgent({ agent: limited, prompt: 'go', client, priceOf: () => undefined })
    expect(run).toMatchObject({ reason: 'cost_limit', costUsd: 0.02, usage: { inputTokens: 20 } })
    expect(asked()).toBe(2)
  },
)

it('counts in the limit of the calling agent, and where a gate puts another reply in its place', async () => {
  const { client, asked } = gateway({ usage: { cost: 0.01 } })
  const sub: Agent = { ...agent, name: 'sub' }
  const boss: Agent = {
    ...agent,
    tools: [{ name: 'act', execute: () => 'ok' }],
    subAgents: [sub],
    maxCostUsd: 0.01,
  }
  const dispatcher = new HookDispatcher()
  const asksSub = { toolCalls: [{ toolCallId: 's', apiName: 'sub', args: { instruction: 'x' } }] }
  dispatcher.use({
    name: 'edits',
    gates: [{ id: 'edit', point: 'afterLlmCall', decide: () => mutate(asksSub) }],
  })
  const run = await execAgent({ agent: boss, prompt: 'go', client, dispatcher, priceOf: () => 5 })
  expect(run).toMatchObject({ reason: 'cost_limit', costUsd: 0.01 })
  expect(asked()).toBe(1)
})

it('a limit is held no further once a provider that says its costs does not', async () => {
  const { client, asked } = gateway({})
  const limited = { ...agent, maxCostUsd: 0.02 }
  const run = await execAgent({ agent: limited, prompt: 'go', client, priceOf: () => undefined })
  expect(run.status).toBe('error')
  expect(String(run.error)).toContain('no price is known for model "vendor/model" of provider "openrouter"')
  expect(asked()).toBe(1)
})

it('goes before the price of a table, in spans, events and in sums', async () => {
  const dispatcher = new HookDispatcher({ priceOf: () => 5 })
  const told: unknown[] = []
  dispatcher.use({
    name: 'costs',
    hooks: [{ id: 'cost', type: 'afterLlmCall', handler: ({ costUsd }) => void told.push(costUsd) }],
    instrument: {
      start: () => ({ run: (fn) => fn(), end: (end) => void (end.kind === 'llm' && told.push(end.costUsd)) }),
    },
  })
  const { client } = gateway({ usage: { cost_in_usd_ticks: 1e8 } }, 'https://api.x.ai/v1')
  const run = await execAgent({ agent: { ...agent, maxSteps: 2 }, prompt: 'go', client, dispatcher })
  expect(run.costUsd).toBeCloseTo(0.02)
  expect(told).toEqual([0.01, 0.01, 0.01, 0.01])
})

it('is taken from the head of what a proxy of LiteLLM answers', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'money', gates: [budget({ maxCostUsd: 0.02 })] })
  const headers = { 'x-litellm-response-cost': '0.01' }
  const { client, asked } = gateway({ headers }, 'http://litellm.internal:4000')
  const observed = observeOpenAI(client, { dispatcher })
  const run = dispatcher.startOperation({ agentName: 'a' })
  const ask = () => observed.chat.completions.create({ model: MODEL, messages: [] })
  await run.run(ask)
  expect(run.totals.costUsd).toBe(0.01)
  await run.run(ask)
  expect(JSON.stringify(await run.run(ask))).toContain('$0.0200 of $0.02')
  expect(asked()).toBe(2)
  await run.complete()
  // And of a client that nobody observes.
  const own = new HookDispatcher().startOperation({ agentName: 'b' })
  await own.llmCall({ model: MODEL, request: {} }, () =>
    gateway({ headers }).client.chat.completions.create({ model: MODEL, messages: [] }),
  )
  expect(own.totals.costUsd).toBe(0.01)
  await own.complete()
})

describe('a reply that says that it cost nothing, as of a proxy without prices', () => {
  const free = { headers: { 'x-litellm-response-cost': '0.0' } }
  const url = 'http://litellm.internal:4000'

  it.each([
    ['in its head', () => gateway(free, url)],
    ['in its body', () => gateway({ usage: { cost: 0 } })],
  ])('%s, is priced by a `priceOf`, which `maxCostUsd` and `budget()` hold', async (_where, start) => {
    const asked: unknown[] = []
    const priceOf = ({ reportedCostUsd }: { reportedCostUsd?: number }) => {
      asked.push(reportedCostUsd)
      return 0.01
    }
    const one = start()
    const limited = { ...agent, maxCostUsd: 0.02, maxSteps: 5 }
    const run = await execAgent({ agent: limited, prompt: 'go', client: one.client, priceOf })
    expect(run).toMatchObject({ reason: 'cost_limit', costUsd: 0.02 })
    expect(one.asked()).toBe(2)
    expect(asked.slice(-2)).toEqual([0, 0])

    const dispatcher = new HookDispatcher({ priceOf })
    dispatcher.use({ name: 'money', gates: [budget({ maxCostUsd: 0.02 })] })
    const two = start()
    const op = dispatcher.startOperation({ agentName: 'a' })
    const observed = observeOpenAI(two.client, { dispatcher })
    const ask = () => observed.chat.completions.create({ model: MODEL, messages: [] })
    await op.run(ask)
    await op.run(ask)
    expect(JSON.stringify(await op.run(ask))).toContain('$0.0200 of $0.02')
    expect(two.asked()).toBe(2)
    await op.complete()
  })

  it('is taken at its word where no `priceOf` knows better', async () => {
    const ways = [{ priceOf: () => undefined }, {}]
    for (const way of ways) {
      const { client } = gateway({ usage: { cost: 0 } })
      const run = await execAgent({
        agent: { ...agent, maxCostUsd: 1, maxSteps: 2 },
        prompt: 'go',
        client,
        ...way,
      })
      expect(run).toMatchObject({ reason: 'max_steps', costUsd: 0 })
    }
  })

  it('is not what the author of a loop says', async () => {
    const op = new HookDispatcher({ priceOf: () => 5 }).startOperation({ agentName: 'a' })
    const read = () => ({ response: {}, usage: { inputTokens: 1, outputTokens: 1 }, costUsd: 0 })
    await op.llmCall({ model: MODEL, request: {}, read }, () => 'cached')
    expect(op.totals.costUsd).toBe(0)
    await op.complete()
  })
})
