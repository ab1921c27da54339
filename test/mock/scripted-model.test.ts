import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { callTool, callTools, type ModelStep, match, mock, mockTools, scriptedModel } from 'hookspan/mock'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { thrownBy } from './support/run-tools.ts'

const ask = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'hi' }] }
const agent = {
  name: 'a',
  model: 'gpt-4o',
  tools: [{ name: 'search', parameters: { type: 'object' }, execute: () => 'real' }],
}

const transports = {
  'in process': async (steps: ModelStep[]) => {
    const model = scriptedModel(steps)
    return { model, client: new OpenAI(model.clientOptions), close: async () => {} }
  },
  'over HTTP': async (steps: ModelStep[]) => {
    const model = scriptedModel(steps)
    const server = await model.listen()
    const client = new OpenAI({ apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
    return { model, client, close: () => server.close() }
  },
}

describe.each(Object.entries(transports))('scriptedModel %s', (_name, start) => {
  it('serves chat completions and responses, streamed and not, with tool calls', async () => {
    const { model, client, close } = await start([
      'one',
      callTool('search', { q: 1 }),
      'three',
      callTools(['a'], ['b', { x: 1 }]),
    ])
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('one')
    let args = ''
    for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
      args += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? ''
    }
    expect(JSON.parse(args)).toEqual({ q: 1 })
    let text = ''
    for await (const event of await client.responses.create({ model: 'm', input: 'hi', stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    expect(text).toBe('three')
    const reply = await client.responses.create({ model: 'm', input: 'hi' })
    expect(reply.output).toMatchObject([
      { type: 'function_call', name: 'a' },
      { type: 'function_call', name: 'b' },
    ])
    model.assertDone()
    await close()
  })

  it('serves errors, cut streams and latency', async () => {
    const { model, client, close } = await start([
      { error: { status: 400, message: 'bad' } },
      { error: { status: 429, message: 'slow down', retryAfterMs: 5 } },
      { error: { status: 500, message: 'broken' } },
      { content: 'some words', cutAfterChunks: 2 },
      { content: 'late', latencyMs: 30 },
    ])
    for (const status of [400, 429, 500]) {
      await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status })
    }
    const read = async () => {
      for await (const _ of await client.chat.completions.create({ ...ask, stream: true }));
    }
    await expect(read()).rejects.toThrow()
    const startedAt = performance.now()
    await client.chat.completions.create(ask)
    expect(performance.now() - startedAt).toBeGreaterThan(28)
    model.assertDone()
    await close()
  })

  it('fails on a request too many and on a step too many, and says why', async () => {
    const { model, client, close } = await start(['one'])
    await client.chat.completions.create(ask)
    await expect(client.chat.completions.create(ask)).rejects.toThrow('all 1 steps are used')
    expect(() => model.assertDone()).toThrow('Unexpected request 1')
    await close()
    expect(thrownBy(() => scriptedModel(['never'])[Symbol.dispose]())).toMatchObject({
      code: 'SCRIPT_NOT_FOLLOWED',
      message: expect.stringContaining('steps[0] was never asked for: "never"'),
    })
  })

  it('looks at the request where a step expects one, and answers by a function', async () => {
    const { model, client, close } = await start([
      {
        content: 'ok',
        expects: { model: 'gpt-4o', lastMessage: match.regex(/^h/), body: { messages: match.any() } },
      },
      ({ messages }) => `echo ${(messages.at(-1) as { content: string }).content}`,
      { content: 'no', expects: { lastMessage: 'other', model: 'gpt-5' } },
    ])
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('ok')
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('echo hi')
    await expect(client.chat.completions.create(ask)).rejects.toThrow(
      'steps[2] expects another request: request.model: expected "gpt-5", got "gpt-4o"; request.lastMessage: expected "other", got "hi"',
    )
    expect(() => model.assertDone()).toThrow('steps[2] expects another request')
    await close()
  })
})

it('is a client for execAgent by itself', async () => {
  const dispatcher = new HookDispatcher()
  using _mocks = mockTools(dispatcher, [mock('search').returns('found')])
  using model = scriptedModel([callTool('search', { q: 'x' }), 'It was found.'])
  const run = await execAgent({ agent, prompt: 'look', client: model, dispatcher })
  expect(run).toMatchObject({ status: 'done', content: 'It was found.' })
  expect(model.requests).toHaveLength(2)
  expect(model.remaining).toBe(0)
})

it('refuses a step that is wrong in itself where it is written', () => {
  expect(() => scriptedModel([{ contents: 'x' } as never])).toThrow('Unknown key `contents`')
  expect(() => scriptedModel([7 as never])).toThrow('to be a text, an object or a function')
  expect(() => scriptedModel('hello' as never)).toThrow('to get a list of steps')
})
