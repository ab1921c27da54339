import { HookDispatcher } from 'hookspan'
import { type Agent, type AgentTool, execAgent } from 'hookspan/agent'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { recorded, scripted, usage } from '../support/scripted-client.ts'

const act: AgentTool = { name: 'act', execute: () => 'ok' }
const call = { toolCalls: [{ id: 'a', name: 'act' }], usage }
const agent: Agent = { name: 'a', model: 'gpt-4o', tools: [act] }
const cents = () => 0.01

afterEach(() => void vi.restoreAllMocks())

describe('limits of a run', () => {
  it('ends after maxSteps turns, with the conversation whole', async () => {
    const { client, fetch } = scripted([call, call, call])
    const { dispatcher, of } = recorded()
    const run = await execAgent({ agent: { ...agent, maxSteps: 2 }, prompt: 'go', client, dispatcher })
    expect(run).toMatchObject({ status: 'done', reason: 'max_steps', steps: 2 })
    expect(run.messages.at(-1)).toMatchObject({ role: 'tool', content: 'ok' })
    expect(fetch.requests).toHaveLength(2)
    expect(of('onComplete')).toMatchObject([{ reason: 'max_steps' }])
  })

  it('ends before the model call that maxCostUsd has no money for', async () => {
    const { client, fetch } = scripted([call, call, call])
    const run = await execAgent({
      agent: { ...agent, maxCostUsd: 0.02 },
      prompt: 'go',
      client,
      priceOf: cents,
    })
    expect(run).toMatchObject({ status: 'done', reason: 'cost_limit', costUsd: 0.02, steps: 2 })
    expect(fetch.requests).toHaveLength(2)
  })

  it('counts what sub-agents spend, and stops them, too', async () => {
    const { client, fetch } = scripted([
      { toolCalls: [{ name: 'sub', arguments: { instruction: 'x' } }], usage },
      call,
      call,
      call,
    ])
    const sub: Agent = { name: 'sub', model: 'gpt-4o-mini', tools: [act] }
    const run = await execAgent({
      agent: { ...agent, subAgents: [sub], maxCostUsd: 0.03 },
      prompt: 'go',
      client,
      priceOf: cents,
    })
    expect(run).toMatchObject({
      reason: 'cost_limit',
      costUsd: expect.closeTo(0.03),
      usage: { inputTokens: 300 },
    })
    expect(fetch.requests).toHaveLength(3)
    expect(run.messages.at(-1)).toMatchObject({
      content: expect.stringContaining('did not finish (cost_limit)'),
    })
  })

  it('refuses a cost limit that nothing can hold, before anything is spent', async () => {
    const { client, fetch } = scripted([call])
    const unknown = { ...agent, model: 'in-house-1', maxCostUsd: 1 }
    await expect(execAgent({ agent: unknown, prompt: 'go', client })).rejects.toThrow(
      /Agent "a" has `maxCostUsd: 1`, but no price is known for model "in-house-1" of provider "openai"\. Give `execAgent` a `priceOf`/,
    )
    expect(fetch.requests).toHaveLength(0)
  })

  it('fails a run whose spending stops being known under a limit', async () => {
    const { client } = scripted([{ ...call, usage: undefined as never }, call])
    const run = await execAgent({ agent: { ...agent, maxCostUsd: 1 }, prompt: 'go', client, priceOf: cents })
    expect(run.status).toBe('error')
    expect(String(run.error)).toContain(
      'model "gpt-4o" did not say how many tokens it used, so the limit cannot be held',
    )
  })
})

describe('costs', () => {
  it('come from the price library, the dispatcher or the caller, the nearest first', async () => {
    const dispatcher = new HookDispatcher({ priceOf: () => 5 })
    const run = (options: object) => {
      const { client } = scripted([{ content: 'x', usage: { ...usage, cachedInputTokens: 50 } }])
      return execAgent({ agent, prompt: 'go', client, ...options })
    }
    expect((await run({})).costUsd).toBeCloseTo(50 * 2.5e-6 + 50 * 1.25e-6 + 10 * 1e-5, 12)
    expect((await run({ dispatcher })).costUsd).toBe(5)
    expect((await run({ dispatcher, priceOf: () => 7 })).costUsd).toBe(7)
    expect(
      (
        await run({
          agent: { ...agent, provider: 'groq' },
          priceOf: ({ provider }: { provider: string }) => (provider === 'groq' ? 3 : 4),
        })
      ).costUsd,
    ).toBe(3)
  })

  it('are absent, not wrong, for an unknown model, which is said once', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    for (let i = 0; i < 2; i++) {
      const { client } = scripted([call, { content: 'x', usage }])
      const { dispatcher, of } = recorded()
      const run = await execAgent({
        agent: { ...agent, model: 'in-house-2' },
        prompt: 'go',
        client,
        dispatcher,
      })
      expect(run.usage).toEqual({ inputTokens: 200, outputTokens: 20 })
      expect('costUsd' in run).toBe(false)
      expect(of('afterLlmCall').every((event) => event.costUsd === undefined)).toBe(true)
    }
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining('no price is known for model "in-house-2" of provider "openai"')],
    ])
  })

  it('are absent where only a part of them is known, or a price is no number', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { client } = scripted([call, { content: 'x' }])
    expect((await execAgent({ agent, prompt: 'go', client, priceOf: cents })).costUsd).toBeUndefined()
    for (const priceOf of [
      () => Number.NaN,
      () => {
        throw new Error('no')
      },
    ]) {
      const { client: other } = scripted([{ content: 'x', usage }])
      const run = await execAgent({ agent, prompt: 'go', client: other, priceOf: priceOf as () => number })
      expect(run).toMatchObject({ status: 'done', content: 'x' })
      expect(run.costUsd).toBeUndefined()
    }
  })
})

describe('a model that fails', () => {
  it.each([500, 429, 401])(
    'with HTTP %i ends the run as failed, onError before onComplete',
    async (status) => {
      const { client } = scripted([{ error: { status, message: 'no' } }])
      const { dispatcher, events, tree } = recorded()
      const run = await execAgent({ agent, prompt: 'go', client, dispatcher })
      expect(run).toMatchObject({ status: 'error', reason: 'error', error: { status }, steps: 0 })
      expect(events.map((event) => event.hookType)).toEqual([
        'onStart',
        'beforeStep',
        'beforeLlmCall',
        'onLlmCallError',
        'afterStep',
        'onError',
        'onComplete',
      ])
      expect(tree.lines()).toEqual(['invoke_agent a (error)', '  step 0 (error)', '    chat gpt-4o (error)'])
    },
  )

  it.each([
    ['chat', {}, /The model answered without a message: `{}` \(object\)/],
    ['chat', 'gateway says hi', /without a message: `"gateway says hi"`/],
    ['responses', { status: 'failed', error: { message: 'out of luck' } }, /response failed: out of luck/],
    ['responses', [], /response failed: no output in `\[\]`/],
  ] as const)('answers nonsense over %s: %j', async (api, body, message) => {
    const client = new OpenAI({ apiKey: 'k', fetch: async () => Response.json(body), maxRetries: 0 })
    const run = await execAgent({ agent: { ...agent, api }, prompt: 'go', client })
    expect(run.status).toBe('error')
    expect(String(run.error)).toMatch(message)
  })
})

describe('options that cannot work', () => {
  const { client } = scripted([])
  const bad: [object, string][] = [
    [{ prompt: undefined }, 'needs a `prompt` or `messages`'],
    [{ prompt: 7 }, 'Expected `prompt` to be a text, got `7` (number)'],
    [{ messages: 'hi' }, 'Expected `messages` of execAgent to be a list of objects'],
    [{ client: {} }, 'Expected `client` to be an `openai` client'],
    [{ agent: null }, 'Expected an agent, got `null`'],
    [{ agent: { ...agent, name: '' } }, 'Expected `name` of the agent'],
    [{ agent: { ...agent, model: undefined } }, 'Expected `model` of agent "a"'],
    [{ agent: { ...agent, api: 'soap' } }, 'to be "chat" or "responses", got `"soap"`'],
    [
      { agent: { ...agent, maxSteps: 0 } },
      'Expected `maxSteps` of agent "a" to be a whole number >= 1, got `0`',
    ],
    [{ agent: { ...agent, maxCostUsd: Number.NaN } }, 'Expected `maxCostUsd`'],
    [{ agent: { ...agent, tools: [{ name: 'a b', execute() {} }] } }, 'name of a tool of agent "a"'],
    [{ agent: { ...agent, tools: [{ name: 'x' }] } }, 'Tool "x" of agent "a" has no `execute` function'],
    [{ agent: { ...agent, tools: [act, act] } }, 'has two tools or sub-agents named "act"'],
    [{ agent: { ...agent, subAgents: [{ name: 'a b', model: 'm' }] } }, 'name of a sub-agent of "a"'],
    [
      { agent: { ...agent, compaction: { thresholdTokens: 0 } } },
      'Expected `thresholdTokens` of `compaction` of agent "a" to be a number >= 1, got `0`',
    ],
    [{ hooks: [{ id: 'x', type: 'nope', handler() {} }] }, 'nope'],
  ]
  it.each(bad)('%j', async (options, message) => {
    await expect(execAgent({ agent, prompt: 'go', client, ...options } as never)).rejects.toThrow(message)
  })
})
