import { type AfterLlmCallEvent, HookDispatcher, type HookEvent, type LlmCallErrorEvent } from 'hookspan'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import { observeOpenAI, unobserveOpenAI } from 'hookspan/openai'
import OpenAI7, { AzureOpenAI as AzureOpenAI7 } from 'openai'
import OpenAI6, { AzureOpenAI as AzureOpenAI6 } from 'openai-6'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { activityTree } from '../support/activity-tree.ts'

const usage = { inputTokens: 12, outputTokens: 3, cachedInputTokens: 4, reasoningTokens: 1 }
const JSON_TYPE = { 'content-type': 'application/json' }
const ask = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'hi' }] }
const calls: ScriptedStep = {
  toolCalls: [
    { id: 'a', name: 'search', arguments: { city: 'Berlin' } },
    { id: 'b', name: 'book', arguments: { id: 7 } },
  ],
  toolCallOrder: 'interleaved',
  usage,
}

/** The runs that a client makes for calls outside of any end when their calls do. */
const settled = (dispatcher: HookDispatcher) => expect.poll(() => dispatcher.stats().operations).toBe(0)
const times = <T>(count: number, ...items: T[]) => Array.from({ length: count }, () => items).flat()

/** As Langfuse wraps a client: whatever is read of it is a proxy, or a function that gives a plain promise. */
function tracedProxy<T extends object>(of: T): T {
  return new Proxy(of, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value === 'function') return async (...args: unknown[]) => value.apply(target, args)
      return typeof value === 'object' && value !== null ? tracedProxy(value) : value
    },
  })
}

/** As LangSmith wraps a client. */
function copyOf<C extends OpenAI7>(client: C): C {
  const { completions } = client.chat
  const copy = Object.assign(Object.create(Object.getPrototypeOf(completions)), completions)
  copy.create = completions.create.bind(completions)
  return { ...client, chat: { ...client.chat, completions: copy } }
}

afterEach(() => void vi.restoreAllMocks())

describe.each([
  ['6', OpenAI6 as unknown as typeof OpenAI7, AzureOpenAI6 as unknown as typeof AzureOpenAI7],
  ['7', OpenAI7, AzureOpenAI7],
])('an observed client of openai %s', (_major, OpenAI, AzureOpenAI) => {
  function observed(...steps: ScriptedStep[]) {
    const fetch = scriptedFetch({ steps })
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    const after: AfterLlmCallEvent[] = []
    const failed: LlmCallErrorEvent[] = []
    dispatcher.use({
      name: 'events',
      hooks: [
        { id: 'after', type: 'afterLlmCall', handler: (event) => void after.push(event) },
        { id: 'failed', type: 'onLlmCallError', handler: (event) => void failed.push(event) },
      ],
    })
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
    return { fetch, tree, dispatcher, client, after, failed }
  }

  it('makes a call below the step that is running', async () => {
    const { client, dispatcher, tree, after } = observed({ content: 'hello', usage })
    const op = dispatcher.startOperation({ agentName: 'support' })
    const reply = await op.step(() => client.chat.completions.create(ask))
    await op.complete()

    expect(reply.choices[0]?.message.content).toBe('hello')
    expect(reply._request_id).toMatch(/^req_/)
    expect(tree.lines()).toEqual(['invoke_agent support', '  step 0', '    chat gpt-4o'])
    expect(after).toMatchObject([
      { model: 'gpt-4o', provider: 'openai', request: ask, response: { content: 'hello' }, usage },
    ])
  })

  it('puts calls of a tool, of op.run and of parallel operations where they belong', async () => {
    const { client, dispatcher, tree } = observed({}, {}, {}, {})
    await Promise.all(
      ['a', 'b'].map(async (agentName) => {
        const op = dispatcher.startOperation({ agentName })
        await op.run(() => client.chat.completions.create(ask))
        await op.step((step) =>
          step.toolCall({ apiName: 'search', args: {} }, () => client.chat.completions.create(ask)),
        )
        await op.complete()
      }),
    )
    const lines = ['  chat gpt-4o', '  step 0', '    execute_tool search', '      chat gpt-4o']
    expect(tree.lines()).toEqual(['invoke_agent a', ...lines, 'invoke_agent b', ...lines])
  })

  it('makes an operation of its own for a call outside of any, or uses the one it was given', async () => {
    const no = { error: { status: 400, message: 'no' } }
    const { client, dispatcher, tree, fetch } = observed({ content: 'x' }, { content: 'y' }, no)
    await client.chat.completions.create(ask)
    const op = dispatcher.startOperation({ agentName: 'mine' })
    observeOpenAI(client, { dispatcher, operation: op })
    await client.chat.completions.create(ask)
    await op.complete()
    await expect(client.chat.completions.create(ask)).rejects.toThrow('no')
    await settled(dispatcher)

    fetch.assertDone()
    expect(tree.lines()).toEqual([
      'invoke_agent -',
      '  chat gpt-4o',
      'invoke_agent mine',
      '  chat gpt-4o',
      'invoke_agent - (error)',
      '  chat gpt-4o (error)',
    ])
  })

  it('counts a call that step.llmCall makes once', async () => {
    const { client, dispatcher, tree } = observed({})
    const op = dispatcher.startOperation({})
    await op.step((step) =>
      step.llmCall({ model: 'gpt-4o', request: ask }, () => client.chat.completions.create(ask)),
    )
    await op.complete()
    expect(tree.lines().filter((line) => line.includes('chat'))).toHaveLength(1)
  })

  it('reads a stream: interleaved parallel calls, and the usage of the last chunk', async () => {
    const { client, dispatcher, tree, after } = observed(calls)
    const stream = await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(stream.controller).toBeInstanceOf(AbortController)
    let chunks = 0
    for await (const _chunk of stream) chunks++
    await settled(dispatcher)

    expect(chunks).toBeGreaterThan(4)
    expect(after).toMatchObject([
      {
        streamEnd: 'finished',
        usage,
        response: {
          finishReasons: ['tool_calls'],
          toolCalls: [
            { toolCallId: 'a', apiName: 'search', args: { city: 'Berlin' } },
            { toolCallId: 'b', apiName: 'book', args: { id: 7 } },
          ],
        },
        timeToFirstChunkMs: expect.any(Number),
      },
    ])
    expect(tree.lines()).toEqual(['invoke_agent -', '  chat gpt-4o'])
  })

  it('leaves parse, stream, withResponse, asResponse and tee as they were', async () => {
    const json = { content: '{"city":"Berlin"}', usage }
    const { client, dispatcher, tree, after, fetch } = observed(...times(7, json))
    const response_format = {
      type: 'json_schema' as const,
      json_schema: { name: 'x', strict: true, schema: { type: 'object' } },
    }
    const parsed = await client.chat.completions.parse({ ...ask, response_format })
    expect(parsed.choices[0]?.message.parsed).toEqual({ city: 'Berlin' })

    const runner = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
    expect((await runner.finalChatCompletion()).choices[0]?.message.content).toBe(json.content)

    const withResponse = await client.chat.completions.create(ask).withResponse()
    expect(withResponse.response.status).toBe(200)
    expect(withResponse.request_id).toMatch(/^req_/)
    expect(withResponse.data.choices[0]?.message.content).toBe(json.content)

    const promise = client.chat.completions.create(ask)
    expect(promise).toBeInstanceOf(Promise)
    const response = await promise.asResponse()
    expect(response).toBeInstanceOf(Response)
    expect(await response.json()).toMatchObject({ object: 'chat.completion' })

    const [left, right] = (await client.chat.completions.create({ ...ask, stream: true })).tee()
    const text = async (stream: typeof left) => {
      let all = ''
      for await (const chunk of stream) all += chunk.choices[0]?.delta.content ?? ''
      return all
    }
    expect(await Promise.all([text(left), text(right)])).toEqual([json.content, json.content])

    const answer = await client.responses.parse({ model: 'gpt-4o', input: 'hi' })
    expect(answer.output_text).toBe(json.content)

    const events = client.responses.stream({ model: 'gpt-4o', input: 'hi' })
    expect((await events.finalResponse()).output_text).toBe(json.content)
    await settled(dispatcher)

    fetch.assertDone()
    expect(tree.lines()).toEqual(times(7, 'invoke_agent -', '  chat gpt-4o'))
    expect(after.map((event) => event.response.content)).toEqual(times(7, json.content))
  })

  it('shows no raw response that a gate has not let through', async () => {
    const { client, dispatcher } = observed({ content: 'a secret' }, { content: 'a secret' })
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'afterLlmCall', decide: () => deny('not fit') }] })
    const response = await client.chat.completions.create(ask).asResponse()
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'not fit' } }] })
    await expect(client.chat.completions.create({ ...ask, stream: true }).asResponse()).rejects.toMatchObject(
      {
        code: 'CALL_DENIED',
      },
    )
  })

  it('is told once that a raw response under a gate could not be read', async () => {
    const { dispatcher, failed } = observed()
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'afterLlmCall', decide: () => {} }] })
    const fetch = async () => {
      const pull = (controller: ReadableStreamDefaultController) => controller.error(new Error('cut off'))
      return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'application/json' } })
    }
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    onTestFinished(() => void process.off('unhandledRejection', unhandled))

    await expect(client.chat.completions.create(ask).asResponse()).rejects.toThrow('cut off')
    await new Promise(setImmediate)
    expect(unhandled).not.toHaveBeenCalled()
    expect(failed).toMatchObject([{ errorMessage: 'cut off' }])
  })

  it('is no failed call when the run ends before the caller has read its raw response', async () => {
    const { client, tree, dispatcher } = observed({ content: 'raw' })
    const errors: unknown[] = []
    const op = dispatcher.startOperation({
      agentName: 'a',
      hooks: [{ id: 'e', type: 'onLlmCallError', handler: (event) => void errors.push(event) }],
    })
    const response = await op.run(() => client.chat.completions.create(ask).asResponse())
    await op.complete()
    expect(await response.json()).toMatchObject({ object: 'chat.completion' })
    await new Promise((resolve) => setImmediate(resolve))

    expect(errors).toEqual([])
    expect(tree.lines()).toEqual(['invoke_agent a', '  chat gpt-4o'])
  })

  it('makes each model call and each tool of runTools one call', async () => {
    const { client, tree, dispatcher } = observed(
      { toolCalls: [{ id: 'a', name: 'search', arguments: {} }] },
      { content: 'found' },
    )
    const op = dispatcher.startOperation({ agentName: 'a' })
    const runner = op.run(() =>
      client.chat.completions.runTools({
        ...ask,
        tools: [
          {
            type: 'function',
            function: { name: 'search', description: '', parameters: {}, function: () => 'x' },
          },
        ],
      }),
    )
    expect(await runner.finalContent()).toBe('found')
    await op.complete()
    expect(tree.lines()).toEqual([
      'invoke_agent a',
      '  chat gpt-4o',
      '  execute_tool search',
      '  chat gpt-4o',
    ])
  })

  it('is the same client: class, listing, and what is no model call', async () => {
    const fetch = vi.fn(async () => Response.json({ object: 'list', data: [{ id: 'm', embedding: [1] }] }))
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    const plain = new OpenAI({ apiKey: 'k', fetch })
    const keys = Object.keys(plain)
    const client = observeOpenAI(plain, { dispatcher })

    expect(client).toBe(plain)
    expect(client).toBeInstanceOf(OpenAI)
    expect(Object.keys(client)).toEqual(keys)
    await client.moderations.create({ input: 'x' })
    await client.models.list()
    expect(fetch).toHaveBeenCalledTimes(2)
    expect(tree.lines()).toEqual([])
    unobserveOpenAI(client)
    expect(Object.hasOwn(client, 'post')).toBe(false)
  })

  it('is its proxy, too: one client, however it is reached', async () => {
    const { client, dispatcher, tree, after } = observed({ content: 'a' }, { content: 'b' })
    unobserveOpenAI(client)
    const proxy = observeOpenAI(new Proxy(client, {}), { dispatcher })
    expect((await proxy.chat.completions.create(ask)).choices[0]?.message.content).toBe('a')
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    observeOpenAI(client, { dispatcher })
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('b')
    await settled(dispatcher)

    expect(after).toHaveLength(2)
    expect(tree.lines()).toEqual(times(2, 'invoke_agent -', '  chat gpt-4o'))
    expect(warned).not.toHaveBeenCalled()
    expect(() => observeOpenAI(client, { dispatcher: new HookDispatcher() })).toThrow('another dispatcher')
    expect(Object.hasOwn(unobserveOpenAI(proxy), 'post')).toBe(false)
  })

  it("gives a promise that can do behind a proxy what the client's own can", async () => {
    // As LangSmith's is, whose methods are the proxy's.
    const told = async (client: OpenAI7) => {
      const call = new Proxy(client.chat.completions.create(ask), {
        get: (target, key, proxy) =>
          key === 'then' ? target.then.bind(target) : Reflect.get(target, key, proxy),
      })
      return call.withResponse().then(({ response }) => response.status, String)
    }
    const bare = new OpenAI({ apiKey: 'k', fetch: scriptedFetch({ steps: [{ content: 'a' }] }) })

    expect(await told(observed({ content: 'a' }).client)).toBe(await told(bare))
  })

  it('tells the response that the reply came with, where the client has asked again for one that did not end', async () => {
    const told = async (observe: (client: OpenAI7) => OpenAI7) => {
      let asked = 0
      const fetch = async () => {
        const headers = { 'content-type': 'application/json', 'x-attempt': String(++asked) }
        return new Response(asked === 1 ? new ReadableStream() : '{"choices":[]}', { headers })
      }
      const client = observe(new OpenAI({ apiKey: 'k', fetch, timeout: 100, maxRetries: 1 }))
      const call = client.chat.completions.create(ask).withResponse()
      return Promise.race([
        call.then(({ response }) => response.headers.get('x-attempt'), String),
        new Promise((resolve) => setTimeout(resolve, 2_000, 'nothing')),
      ])
    }
    const dispatcher = new HookDispatcher()

    const [ours, own] = await Promise.all([
      told((client) => observeOpenAI(client, { dispatcher })),
      told((client) => client),
    ])
    expect(ours).toBe(own)
  })

  it('makes a call that is not waited for, and is sent when its run has ended, a run of its own', async () => {
    const { client, dispatcher, tree, after } = observed({ content: 'a' })
    const op = dispatcher.startOperation({ agentName: 'hasty' })
    const call = op.run(() => client.chat.completions.create(ask))
    await op.complete()

    expect((await call).choices[0]?.message.content).toBe('a')
    await settled(dispatcher)
    expect(after).toHaveLength(1)
    expect(tree.lines()).toEqual(['invoke_agent hasty', 'invoke_agent -', '  chat gpt-4o'])
  })

  it('is the client behind a proxy that gives its methods traced', async () => {
    const { client, dispatcher, tree } = observed({ content: 'a' })
    unobserveOpenAI(client)
    const proxy = observeOpenAI(tracedProxy(client), { dispatcher })
    expect((await proxy.chat.completions.create(ask)).choices[0]?.message.content).toBe('a')
    await settled(dispatcher)

    expect(tree.lines()).toEqual(['invoke_agent -', '  chat gpt-4o'])
    expect(Object.hasOwn(client, 'post')).toBe(true)
    unobserveOpenAI(proxy)
    expect(Object.hasOwn(client, 'post')).toBe(false)
  })

  it('refuses a copy that was made to wrap its calls, and decides on the tools of one that is made of it', async () => {
    const { client, dispatcher, tree } = observed({ toolCalls: [{ name: 'wipe' }] }, { content: 'a' })
    dispatcher.use({
      name: 'guard',
      gates: [{ id: 'no-wiping', point: 'beforeToolCall', decide: () => deny('no') }],
    })
    expect(() => observeOpenAI(copyOf(client), { dispatcher })).toThrow('wrap(observeOpenAI(client, ...))')

    const wipe = vi.fn(() => 'wiped')
    const runner = copyOf(client).chat.completions.runTools({
      ...ask,
      tools: [
        {
          type: 'function',
          function: { name: 'wipe', description: 'Wipes.', parameters: { type: 'object' }, function: wipe },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('a')
    expect(wipe).not.toHaveBeenCalled()
    expect(tree.lines().slice(0, 4)).toEqual([
      'invoke_agent -',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool wipe',
    ])
  })

  it('observes the client of groq-sdk, which has the whole path in its resources', async () => {
    const fetch = scriptedFetch({ steps: [{ content: 'hi', usage }] })
    const dispatcher = new HookDispatcher()
    const after: AfterLlmCallEvent[] = []
    dispatcher.use({
      name: 'events',
      hooks: [{ id: 'after', type: 'afterLlmCall', handler: (event) => void after.push(event) }],
    })
    const groq = new OpenAI({ apiKey: 'k', fetch, baseURL: 'https://api.groq.com' })
    const body = { model: 'llama-3.3-70b', messages: [{ role: 'user', content: 'hi' }] }
    await observeOpenAI(groq, { dispatcher }).post('/openai/v1/chat/completions', { body })
    await settled(dispatcher)
    expect(after).toMatchObject([{ model: 'llama-3.3-70b', provider: 'groq' }])
  })

  it.each<[how: string, ask: (client: OpenAI7) => Promise<unknown>]>([
    ['request()', (client) => client.request({ method: 'post', path: '/chat/completions', body: ask })],
    ['a query', (client) => client.post('/chat/completions?user=7', { body: ask })],
    ['a slash at the end', (client) => client.post('/chat/completions/', { body: ask })],
    [
      'the whole address',
      (client) => client.post('https://api.openai.com/v1/chat/completions', { body: ask }),
    ],
    ['the path as an option', (client) => client.post('/', { path: '/chat/completions', body: ask })],
    [
      'a body that is text',
      (client) => client.post('/chat/completions', { body: JSON.stringify(ask), headers: JSON_TYPE }),
    ],
  ])('decides on a request that is made by hand, with %s, and leaves it as it is', async (_how, call) => {
    const sent: unknown[] = []
    const fetch = async (_url: unknown, init?: RequestInit) => {
      sent.push(JSON.parse(String(init?.body)))
      return Response.json({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] })
    }
    const dispatcher = new HookDispatcher()
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch }), { dispatcher })

    expect(await call(client)).toMatchObject({ choices: [{ message: { content: 'hi' } }] })
    dispatcher.use({
      name: 'no',
      gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('not now') }],
    })
    expect(await call(client)).toMatchObject({ choices: [{ message: { refusal: null } }] })

    expect(sent).toEqual([ask])
  })

  it('observes what withOptions makes, and Azure', async () => {
    const { client, tree, after, dispatcher } = observed({})
    await client.withOptions({ timeout: 1_000 }).chat.completions.create(ask)
    const paths: string[] = []
    const fetch = async (url: unknown) => {
      paths.push(new URL(String(url)).pathname)
      return Response.json({ choices: [{ message: { content: 'azure' }, finish_reason: 'stop' }] })
    }
    const endpoint = 'https://x.openai.azure.com'
    const azure = new AzureOpenAI({ apiKey: 'k', apiVersion: '2024-10-21', endpoint, deployment: 'd', fetch })
    await observeOpenAI(azure, { dispatcher }).chat.completions.create(ask)
    await settled(dispatcher)

    expect(paths).toEqual(['/openai/deployments/d/chat/completions'])
    expect(after.map((event) => event.response.content)).toEqual([undefined, 'azure'])
    const llm = tree.all.map(({ activity }) => activity).filter(({ kind }) => kind === 'llm')
    expect(llm).toMatchObject([
      { provider: 'openai', serverAddress: 'api.openai.com', serverPort: 443 },
      { provider: 'azure.ai.openai', serverAddress: 'x.openai.azure.com' },
    ])
  })

  describe('of what is no chat', () => {
    /** A client whose every request gets this answer. */
    function answering(reply: object | string, status = 200) {
      const tree = activityTree()
      const dispatcher = new HookDispatcher()
      dispatcher.use(tree.plugin)
      const events: { hookType: string }[] = []
      const types = [
        'beforeLlmCall',
        'afterLlmCall',
        'onLlmCallError',
        'beforeCompact',
        'afterCompact',
      ] as const
      dispatcher.use({
        name: 'events',
        hooks: [...types, 'onCompactError' as const, 'onComplete' as const].map((type) => ({
          id: type,
          type,
          handler: (event: HookEvent) => void events.push(event),
        })),
      })
      const contentType = typeof reply === 'string' ? 'text/event-stream' : 'application/json'
      const fetch = async () =>
        new Response(typeof reply === 'string' ? reply : JSON.stringify(reply), {
          status,
          headers: { 'content-type': contentType },
        })
      const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
      return { client, dispatcher, tree, events }
    }
    const model = 'text-embedding-3-small'

    it('sees embeddings, and leaves the vectors as they were', async () => {
      const vector = new Float32Array([0.5, -1])
      const embedding = Buffer.from(vector.buffer).toString('base64')
      const { client, dispatcher, tree, events } = answering({
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding }],
        model,
        usage: { prompt_tokens: 5, total_tokens: 5 },
      })
      const op = dispatcher.startOperation({ agentName: 'a' })
      const reply = await op.run(() => client.embeddings.create({ model, input: 'hi' }))
      await op.complete()
      expect([...(reply.data[0]?.embedding ?? [])]).toEqual([0.5, -1])
      expect(tree.lines()).toEqual(['invoke_agent a', `  embeddings ${model}`])
      expect(events).toMatchObject([
        { hookType: 'beforeLlmCall', operationName: 'embeddings' },
        {
          hookType: 'afterLlmCall',
          operationName: 'embeddings',
          response: { model },
          usage: { inputTokens: 5, outputTokens: 0 },
        },
        { hookType: 'onComplete' },
      ])
    })

    it('lets gates refuse embeddings, for which nothing can stand in', async () => {
      const { client, dispatcher } = answering({ data: [] })
      dispatcher.use({ name: 'g', gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => skip('x') }] })
      const op = dispatcher.startOperation()
      await expect(op.run(() => client.embeddings.create({ model, input: 'hi' }))).rejects.toMatchObject({
        code: 'CALL_DENIED',
      })
      await op.complete()
    })

    it('sees legacy completions, streamed or not, and lets gates stand in', async () => {
      const choice = { text: 'Hello', index: 0, logprobs: null, finish_reason: 'stop' }
      const body = { id: 'cmpl_1', object: 'text_completion', created: 1, model: 'm', choices: [choice] }
      const ask = { model: 'm', prompt: 'Say hello' }
      const whole = answering({ ...body, usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } })
      const reply = await whole.client.completions.create(ask)
      expect(reply.choices[0]?.text).toBe('Hello')
      await settled(whole.dispatcher)
      expect(whole.tree.lines()).toEqual(['invoke_agent -', '  text_completion m'])
      expect(whole.events).toMatchObject([
        {},
        { operationName: 'text_completion', response: { content: 'Hello', finishReasons: ['stop'] } },
        { hookType: 'onComplete', content: 'Hello' },
      ])

      const pieces = ['Hel', 'lo'].map((text) => ({
        ...choice,
        text,
        finish_reason: text === 'lo' ? 'stop' : null,
      }))
      const lines = pieces.map((piece) => `data: ${JSON.stringify({ ...body, choices: [piece] })}\n\n`)
      const streamed = answering(`${lines.join('')}data: [DONE]\n\n`)
      for await (const _chunk of await streamed.client.completions.create({ ...ask, stream: true }));
      await settled(streamed.dispatcher)
      expect(streamed.events[1]).toMatchObject({ response: { content: 'Hello' }, streamEnd: 'finished' })

      const { client, dispatcher } = answering(body)
      dispatcher.use({ name: 'g', gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => skip('Bye') }] })
      expect((await client.completions.create(ask)).choices[0]?.text).toBe('Bye')
      const texts = []
      for await (const chunk of await client.completions.create({ ...ask, stream: true }))
        texts.push(chunk.choices[0]?.text)
      expect(texts.join('')).toBe('Bye')
    })

    const compacted = {
      id: 'resp_1',
      object: 'response.compaction',
      created_at: 1,
      output: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'compaction', id: 'cmp_1', encrypted_content: 'x' },
      ],
      usage: {
        input_tokens: 900,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 90,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 990,
      },
    }
    const input = [1, 2, 3].map((n) => ({ role: 'user' as const, content: `${n}` }))

    it('sees a compaction as a compaction, with the model call in it', async () => {
      const { client, dispatcher, tree, events } = answering(compacted)
      const op = dispatcher.startOperation({ agentName: 'a' })
      const reply = await op.step(() => client.responses.compact({ model: 'm', input }))
      await op.complete()
      expect(reply).toMatchObject({ id: 'resp_1', object: 'response.compaction' })
      expect(tree.lines()).toEqual(['invoke_agent a', '  step 0', '    compact', '      chat m'])
      expect(events).toMatchObject([
        { hookType: 'beforeCompact', messageCount: 3 },
        { hookType: 'beforeLlmCall' },
        {
          hookType: 'afterLlmCall',
          usage: { inputTokens: 900 },
          response: { finishReasons: ['compaction'] },
        },
        {
          hookType: 'afterCompact',
          groupId: 'resp_1',
          messagesBefore: 3,
          messagesAfter: 2,
          tokensBefore: 900,
          tokensAfter: 90,
        },
        { hookType: 'onComplete' },
      ])
    })

    it('sees a compaction that has a run of its own, and its raw response', async () => {
      const { client, tree, events } = answering(compacted)
      await client.responses.compact({ model: 'm', input: 'hi' })
      await client.responses.compact({ model: 'm', input: 'hi' }).asResponse()
      await client.beta.responses.compact({ model: 'm', input: 'hi' })
      await expect.poll(() => events.filter(({ hookType }) => hookType === 'onComplete')).toHaveLength(3)
      expect(tree.lines()).toEqual(times(3, 'invoke_agent -', '  compact', '    chat m'))
      expect(events.filter(({ hookType }) => hookType === 'afterCompact')).toMatchObject(
        times(3, { messagesBefore: 1, messagesAfter: 2 }),
      )
    })

    it('ends a compaction that fails, or is refused, as failed', async () => {
      const failing = answering({ error: { message: 'no' } }, 400)
      const op = failing.dispatcher.startOperation()
      await expect(
        op.run(() => failing.client.responses.compact({ model: 'm', input })),
      ).rejects.toMatchObject({
        status: 400,
      })
      await op.complete()
      expect(failing.events.map(({ hookType }) => hookType)).toEqual([
        ...['beforeCompact', 'beforeLlmCall', 'onLlmCallError', 'onCompactError', 'onComplete'],
      ])
      for (const decide of [() => deny('no'), () => skip({ summary: 'x' })]) {
        const { client, dispatcher } = answering(compacted)
        dispatcher.use({ name: 'g', gates: [{ id: 'no', point: 'beforeCompact', decide }] })
        const gated = dispatcher.startOperation()
        await expect(gated.run(() => client.responses.compact({ model: 'm', input }))).rejects.toMatchObject({
          code: 'CALL_DENIED',
        })
        await gated.complete()
      }
    })
  })

  it('ends failed calls as failed: HTTP 500 after retries, 429, a broken body, a stream cut midway', async () => {
    const error = (status: number) => ({ error: { status, message: `is ${status}`, retryAfterMs: 1 } })
    const { client, dispatcher, tree, failed, fetch } = observed(
      error(500),
      error(500),
      error(429),
      { content: 'x', cutAfterChunks: 0 },
      { content: 'one two three four', cutAfterChunks: 2 },
    )
    await expect(client.chat.completions.create(ask, { maxRetries: 1 })).rejects.toMatchObject({
      status: 500,
    })
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status: 429 })
    await expect(client.chat.completions.create(ask)).rejects.toThrow()
    const stream = await client.chat.completions.create({ ...ask, stream: true })
    const read = async () => {
      for await (const _chunk of stream);
    }
    await expect(read()).rejects.toThrow()
    await settled(dispatcher)

    fetch.assertDone()
    expect(failed.map((event) => event.errorType).slice(0, 2)).toEqual(['500', '429'])
    expect(failed).toHaveLength(4)
    expect(tree.lines()).toEqual(times(4, 'invoke_agent - (error)', '  chat gpt-4o (error)'))
  })

  it('fails a stream in which the provider reports an error, keeping what came before it', async () => {
    const chunk = { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'half' } }] }
    const events = [chunk, { error: { message: 'overloaded', code: 'overloaded' } }]
    const sse = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const fetch = async () => new Response(sse, { headers: { 'content-type': 'text/event-stream' } })
    const { dispatcher, tree, failed } = observed()
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
    const read = async () => {
      for await (const _chunk of await client.chat.completions.create({ ...ask, stream: true }));
    }
    await expect(read()).rejects.toThrow('overloaded')
    await settled(dispatcher)
    expect(failed).toMatchObject([{ errorMessage: expect.stringContaining('overloaded') }])
    const [llm] = tree.all.filter(({ activity }) => activity.kind === 'llm')
    expect(llm?.ends).toMatchObject([{ response: { content: 'half' }, error: expect.any(Error) }])
  })

  it('ends an abandoned stream as abandoned: break, abort, never read', async () => {
    const long = { content: 'one two three four five six' }
    const { client, tree, dispatcher, after } = observed(long, { ...long, chunkDelayMs: 5 }, long, long)
    const op = dispatcher.startOperation({ agentName: 'a' })
    await op.run(async () => {
      for await (const _chunk of await client.chat.completions.create({ ...ask, stream: true })) break
      const aborted = await client.chat.completions.create({ ...ask, stream: true })
      for await (const _chunk of aborted) aborted.controller.abort()
      const runner = client.chat.completions.stream(ask)
      for await (const _chunk of runner) break
      await client.chat.completions.create({ ...ask, stream: true })
    })
    await op.complete()

    expect(after.map((event) => event.streamEnd)).toEqual(times(4, 'abandoned'))
    expect(tree.lines()).toEqual(['invoke_agent a', ...times(4, '  chat gpt-4o (abandoned)')])
  })

  it('aborts the request with the run', async () => {
    const { client, dispatcher, tree, fetch } = observed({ content: 'x', latencyMs: 10_000 })
    const controller = new AbortController()
    const op = dispatcher.startOperation({ agentName: 'a', signal: controller.signal })
    const call = op.step(() => client.chat.completions.create(ask))
    await expect.poll(() => fetch.requests).toHaveLength(1)
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await op.complete({ reason: 'interrupted' })
    expect(tree.lines()).toEqual(['invoke_agent a', '  step 0 (error)', '    chat gpt-4o (error)'])
  })

  it('lets gates change the request, stand in for the model and replace its reply', async () => {
    const { client, dispatcher, fetch, after } = observed(
      { content: 'real' },
      ...times(2, { content: 'secret' }),
    )
    const run = async (stream: boolean, point: Gate['point'], decide: Gate['decide']) => {
      const op = dispatcher.startOperation({ gates: [{ id: 'g', point, decide }] })
      const text = await op.run(async () => {
        if (stream) return client.chat.completions.stream(ask).finalContent()
        return (await client.chat.completions.create(ask)).choices[0]?.message.content
      })
      await op.complete()
      return text
    }
    expect(await run(false, 'beforeLlmCall', () => mutate({ model: 'gpt-4o-mini' }))).toBe('real')
    expect(fetch.requests[0]?.body.model).toBe('gpt-4o-mini')
    for (const stream of [false, true]) {
      expect(await run(stream, 'beforeLlmCall', () => skip({ content: 'canned' }))).toBe('canned')
      expect(await run(stream, 'beforeLlmCall', () => deny('not now'))).toBe('not now')
      expect(await run(stream, 'afterLlmCall', () => mutate({ content: '***' }))).toBe('***')
    }
    fetch.assertDone()
    expect(after).toHaveLength(7)
  })
})

describe('observeOpenAI', () => {
  const dispatcher = new HookDispatcher()

  it('says loudly, once, that a client is of a shape it does not know', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const strange = { chat: {}, getUserAgent: () => 'OpenAI/JS 9.1.0', post() {} }
    expect(observeOpenAI(strange, { dispatcher })).toBe(strange)
    observeOpenAI({ ...strange }, { dispatcher })
    const newer = new OpenAI7({ apiKey: 'k' })
    Object.assign(newer, { getUserAgent: () => 'OpenAI/JS 8.0.0' })
    observeOpenAI(newer, { dispatcher })
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(
        /cannot observe this client \(openai 9\.1\.0\): it has no `makeRequest\(\)`, `with/,
      ),
      expect.stringMatching(/knows openai 6 and 7, and this client is 8\.0\.0/),
    ])
  })

  it('refuses what is no client, no dispatcher, and a second dispatcher', () => {
    expect(() => observeOpenAI(null as never, { dispatcher })).toThrow('got `null`')
    expect(() => observeOpenAI(new OpenAI7({ apiKey: 'k' }), {} as never)).toThrow('needs a `dispatcher`')
    const client = observeOpenAI(new OpenAI7({ apiKey: 'k' }), { dispatcher })
    expect(() => observeOpenAI(client, { dispatcher: new HookDispatcher() })).toThrow('observed by another')
  })
})
