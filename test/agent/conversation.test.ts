import { HookDispatcher } from 'hookspan'
import { type AgentTool, execAgent, type TextOrigin } from 'hookspan/agent'
import { mutate, skip } from 'hookspan/gates'
import { scriptedModel } from 'hookspan/mock'
import OpenAI6 from 'openai-6'
import { describe, expect, it } from 'vitest'
import { recorded, scripted, usage } from '../support/scripted-client.ts'

const search: AgentTool = {
  name: 'search',
  description: 'Searches.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  execute: ({ city }) => ({ city, tempC: 7 }),
}
const twoCalls = {
  toolCalls: [
    { id: 'a', name: 'slow', arguments: {} },
    { id: 'b', name: 'search', arguments: { city: 'Berlin' } },
  ],
  toolCallOrder: 'interleaved' as const,
  usage,
}
const agent = { name: 'weather', instructions: 'Be brief.', model: 'gpt-4o' }

const modes = [
  { api: 'chat', stream: false },
  { api: 'chat', stream: true },
  { api: 'responses', stream: false },
  { api: 'responses', stream: true },
] as const

describe.each(modes)('an agent over $api, stream: $stream', (mode) => {
  it('runs parallel tools at once and tells their results in the order of the calls', async () => {
    const { client, fetch } = scripted([twoCalls, { content: 'It is 7 degrees.', usage }])
    const order: string[] = []
    const { promise: isQuick, resolve: wasQuick } = Promise.withResolvers<void>()
    const slow: AgentTool = {
      name: 'slow',
      execute: async () => {
        await isQuick
        order.push('slow')
        return 'slow result'
      },
    }
    const quick = {
      ...search,
      execute: (args: { city: string }) => {
        order.push('search')
        wasQuick()
        return { ...args, tempC: 7 }
      },
    }
    const { dispatcher, tree } = recorded()
    const run = await execAgent({
      agent: { ...agent, tools: [slow, quick as AgentTool], ...mode },
      prompt: 'How is Berlin?',
      client,
      dispatcher,
    })

    fetch.assertDone()
    expect(run).toMatchObject({
      status: 'done',
      reason: 'done',
      content: 'It is 7 degrees.',
      usage: { inputTokens: 200, outputTokens: 20 },
      costUsd: expect.closeTo(200 * 2.5e-6 + 20 * 1e-5, 10),
      steps: 2,
    })
    expect(order).toEqual(['search', 'slow'])
    const told = JSON.stringify(fetch.requests[1]?.messages)
    expect(told).toMatch(/slow result.*tempC/)
    expect(tree.lines()).toEqual([
      'invoke_agent weather',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool slow',
      '    execute_tool search',
      '  step 1',
      '    chat gpt-4o',
    ])
  })

  it('gives the conversation in the shape of the API, ready to go on with', async () => {
    const { client, fetch } = scripted([twoCalls, { content: 'Seven.' }, { content: 'Yes.' }])
    const tools = [search, { name: 'slow', execute: () => 'x' }]
    const first = await execAgent({ agent: { ...agent, tools, ...mode }, prompt: 'Berlin?', client })
    const given = structuredClone(first.messages)
    const second = await execAgent({
      agent: { ...agent, tools, ...mode },
      messages: first.messages,
      prompt: 'Sure?',
      client,
    })

    expect(first.messages).toEqual(given)
    expect(second.messages.slice(0, given.length)).toEqual(given)
    expect(second.messages).toHaveLength(given.length + 2)
    expect(fetch.requests[2]?.messages).toEqual([...given, { role: 'user', content: 'Sure?' }])
    if (mode.api === 'chat') {
      expect(given.map((message) => message.role)).toEqual([
        'system',
        'user',
        'assistant',
        'tool',
        'tool',
        'assistant',
      ])
    } else {
      expect(given.map((item) => item.type ?? item.role)).toEqual([
        'user',
        'function_call',
        'function_call',
        'function_call_output',
        'function_call_output',
        'message',
      ])
      expect(fetch.requests.map(({ body }) => body.instructions)).toEqual([
        'Be brief.',
        'Be brief.',
        'Be brief.',
      ])
    }
  })

  it('never changes a list it was given or has handed out', async () => {
    const { client, fetch } = scripted([twoCalls, { content: 'ok' }])
    const { dispatcher, of } = recorded()
    const messages = Object.freeze([Object.freeze({ role: 'user', content: 'Berlin?' })])
    const sent: unknown[] = []
    const lengths: number[] = []
    dispatcher.use({
      name: 'keeper',
      instrument: {
        start: (activity) => {
          if (activity.kind !== 'llm') return undefined
          const list = (activity.request.messages ?? activity.request.input) as unknown[]
          sent.push(list)
          lengths.push(list.length)
          Object.freeze(list)
          return undefined
        },
      },
    })
    const tools = [search, { name: 'slow', execute: () => 'x' }]
    const run = await execAgent({ agent: { ...agent, tools, ...mode }, messages, client, dispatcher })

    expect(run.status).toBe('done')
    expect(sent.map((list) => (list as unknown[]).length)).toEqual(lengths)
    expect(messages).toHaveLength(1)
    expect(of('beforeLlmCall')).toHaveLength(2)
    fetch.assertDone()
  })

  it('keeps runs that go on at once apart', async () => {
    const { client } = scripted((request) => {
      const asked = JSON.stringify(request.messages)
      const city = /city-\d/.exec(asked)?.[0]
      if (asked.includes('tempC')) return { content: `${city} is fine`, usage }
      return { toolCalls: [{ id: 'same', name: 'search', arguments: { city } }], usage }
    })
    const { dispatcher, tree } = recorded()
    const runs = await Promise.all(
      [1, 2, 3].map((n) =>
        execAgent({
          agent: { ...agent, name: `a${n}`, tools: [search], ...mode },
          prompt: `city-${n}`,
          client,
          dispatcher,
        }),
      ),
    )
    expect(runs.map((run) => run.content)).toEqual(['city-1 is fine', 'city-2 is fine', 'city-3 is fine'])
    expect(runs.map((run) => run.usage.inputTokens)).toEqual([200, 200, 200])
    for (const n of [1, 2, 3]) {
      const at = (n - 1) * 6
      expect(tree.lines().slice(at, at + 6)).toEqual([
        `invoke_agent a${n}`,
        '  step 0',
        '    chat gpt-4o',
        '    execute_tool search',
        '  step 1',
        '    chat gpt-4o',
      ])
    }
  })
})

describe.each(modes)('openai 6 over $api, stream: $stream', (mode) => {
  it('serves an agent as openai 7 does', async () => {
    const { fetch } = scripted([twoCalls, { content: 'It is 7 degrees.', usage }])
    const client = new OpenAI6({ apiKey: 'k', fetch, maxRetries: 0 })
    const tools = [search, { name: 'slow', execute: () => 'x' }]
    const run = await execAgent({ agent: { ...agent, tools, ...mode }, prompt: 'Berlin?', client })
    fetch.assertDone()
    expect(run).toMatchObject({ content: 'It is 7 degrees.', steps: 2, usage: { inputTokens: 200 } })
  })
})

describe.each(modes.filter((mode) => mode.stream))('streaming over $api', (mode) => {
  it('tells each piece of text where it comes from, and a throwing listener changes nothing', async () => {
    const { client } = scripted([{ content: 'one two three four five', usage }])
    const pieces: string[] = []
    const origins = new Set<string>()
    const { dispatcher, of } = recorded()
    const run = await execAgent({
      agent: { ...agent, ...mode },
      prompt: 'count',
      client,
      dispatcher,
      operationId: 'op-1',
      onText: (text: string, origin: TextOrigin) => {
        pieces.push(text)
        origins.add(JSON.stringify(origin))
      },
    })
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe('one two three four five')
    expect([...origins]).toEqual(['{"operationId":"op-1","agentName":"weather","stepIndex":0}'])
    expect(run.content).toBe('one two three four five')
    expect(of('afterLlmCall')).toMatchObject([
      { streamEnd: 'finished', usage, timeToFirstChunkMs: expect.any(Number) },
    ])
  })

  it('shows nothing of a reply before the gates have decided on it', async () => {
    const { client } = scripted([{ content: 'the secret is 42', usage }])
    const { dispatcher } = recorded()
    const gates = [
      {
        id: 'redact',
        point: 'afterLlmCall' as const,
        decide: () => mutate({ content: 'the secret is ***' }),
      },
    ]
    dispatcher.use({ name: 'redact', gates })
    const pieces: string[] = []
    const run = await execAgent({
      agent: { ...agent, ...mode },
      prompt: 'tell',
      client,
      dispatcher,
      onText: (text) => void pieces.push(text),
    })
    expect(run.content).toBe('the secret is ***')
    expect(JSON.stringify(run.messages)).not.toContain('42')
    expect(pieces.join('')).not.toContain('42')
    expect(run.usage).toMatchObject(usage)
  })

  it('fails the run when the stream breaks off: half a reply is none', async () => {
    const { client } = scripted([{ content: 'one two three four five', cutAfterChunks: 4 }])
    const { dispatcher, tree, of } = recorded()
    const run = await execAgent({ agent: { ...agent, ...mode }, prompt: 'count', client, dispatcher })
    expect(run).toMatchObject({ status: 'error', reason: 'error', content: '' })
    expect(run.error).toBeInstanceOf(Error)
    expect(of('onLlmCallError')).toHaveLength(1)
    expect(tree.lines()).toEqual([
      'invoke_agent weather (error)',
      '  step 0 (error)',
      '    chat gpt-4o (error)',
    ])
  })
})

describe('what a gate says in the place of the model', () => {
  it.each(['chat', 'responses'] as const)(
    'keeps its reasoning, as in an observed client: %s',
    async (api) => {
      const message = {
        content: 'Nothing to do.',
        reasoning: 'The gate thought.',
        toolCalls: [{ toolCallId: 'c1', apiName: 'nap', args: { hours: 1 } }],
      }
      const dispatcher = new HookDispatcher()
      let first = true
      dispatcher.use({
        name: 'gate',
        gates: [
          {
            id: 'instead',
            point: 'beforeLlmCall',
            decide: () => {
              if (!first) return undefined
              first = false
              return skip(message)
            },
          },
        ],
      })
      const seen: unknown[] = []
      dispatcher.use({
        name: 'seen',
        hooks: [{ id: 's', type: 'afterLlmCall', handler: (event) => void seen.push(event.response) }],
      })
      using model = scriptedModel(['Done.'])
      const agent = { name: 'a', model: 'm', api, tools: [{ name: 'nap', execute: () => 'rested' }] }
      const run = await execAgent({ agent, prompt: 'x', client: model, dispatcher, priceOf: () => 0 })
      expect(run).toMatchObject({ status: 'done', content: 'Done.', steps: 2 })
      expect(seen[0]).toMatchObject(message)

      // Nobody has items of ours to look up.
      const sent = JSON.stringify(model.requests[0]?.body)
      expect(sent).toContain('"c1"')
      if (api === 'responses') {
        const items = model.requests[0]?.messages as { id?: string; type?: string }[]
        expect(items.map(({ type = 'message' }) => type)).toEqual([
          ...['message', 'message', 'function_call', 'function_call_output'],
        ])
        expect(items.filter(({ id }) => id !== undefined)).toEqual([])
      }
    },
  )
})
