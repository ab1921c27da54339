import { AsyncLocalStorage } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import * as ai from 'ai'
import { MockEmbeddingModelV4, MockLanguageModelV4, MockRerankingModelV4 } from 'ai/test'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, HookspanError, Operation } from 'hookspan'
import { observeAISDK, parkedRun, runWith } from 'hookspan/ai-sdk'
import { createApprovals } from 'hookspan/approval'
import { deny, type Gate, mutate, proceed, skip } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { redact, requireHuman, toolPolicy } from 'hookspan/policies'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { SpanTree } from '../../src/spans/span-tree.ts'
import { traced } from '../support/span-tree.ts'
import { dispatcherWith, find, findAll, gate, typesOf } from '../support/told-events.ts'

type Part = Record<string, unknown> & { type: string }
type StreamArguments = Parameters<typeof ai.streamText>[0]

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
}
const call = (toolName: string, input: object, toolCallId = `call_${toolName}`): Part => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: JSON.stringify(input),
})
const text = (said: string): Part => ({ type: 'text', text: said })

/** A model that says these things, one list for each time that it is asked. */
function says(...replies: Part[][]): MockLanguageModelV4 {
  let asked = 0
  const next = () => {
    const content = replies[asked++]
    if (content === undefined) throw new Error('asked too often')
    const unified = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
    return { content, finishReason: { unified, raw: unified }, usage: USAGE, warnings: [] }
  }
  return new MockLanguageModelV4({
    modelId: 'scripted',
    provider: 'openai.chat',
    doGenerate: async () => next() as never,
    doStream: async () => ({ stream: streamOf(next()) as never }),
  })
}

function streamOf({ content, finishReason }: { content: Part[]; finishReason: object }): ReadableStream {
  return ai.simulateReadableStream({
    chunks: [
      { type: 'stream-start', warnings: [] },
      ...content.flatMap((part, index) => {
        if (part.type !== 'text') return [part]
        const id = String(index)
        const deltas = [...(part.text as string)].map((delta) => ({ type: 'text-delta', id, delta }))
        return [{ type: 'text-start', id }, ...deltas, { type: 'text-end', id }]
      }),
      { type: 'finish', finishReason, usage: USAGE },
    ],
    initialDelayInMs: null,
    chunkDelayInMs: null,
  })
}

function searchTool(found: (q: string) => unknown = (q) => `found ${q}`) {
  const execute = vi.fn(async ({ q }: { q: string }) => found(q))
  return {
    execute,
    search: ai.tool({ description: 'Searches.', inputSchema: z.object({ q: z.string() }), execute }),
  }
}

const five = { stopWhen: ai.isStepCount(5), maxRetries: 0 }

const onlyText = (value: unknown) =>
  typeof (value as { q?: unknown }).q === 'string'
    ? { success: true as const, value }
    : { success: false as const, error: new Error('q: expected a text') }

/** What a model was told in its last request, as JSON. */
const toldTo = (model: MockLanguageModelV4) =>
  JSON.stringify((model.doGenerateCalls.at(-1) ?? model.doStreamCalls.at(-1))?.prompt)

/** Ids and times differ from run to run. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, one) =>
      /^(timestamp|id|callId|performance|approvalId|messageId|toolExecutionMs)$/.test(key) ? undefined : one,
    ),
  )

describe('toolSearch, which the SDK runs by itself', () => {
  const searchesFor = async (
    dispatcher: HookDispatcher | undefined,
    search?: (asked: { query: string }) => string[],
    isStream = false,
  ) => {
    const model = says([call('find', { query: 'orders' })], [text('done')])
    const orders = { ...searchTool().search, description: 'Finds orders.', deferLoading: true }
    const sdk = dispatcher === undefined ? ai : observeAISDK(ai, { dispatcher })
    const tools = { orders, find: ai.toolSearch(search && { search }) } as ai.ToolSet
    const asked = { model, tools, prompt: 'hi', ...five } as const
    if (isStream) await sdk.streamText(asked).consumeStream()
    else await sdk.generateText(asked)
    const { prompt, tools: offered } = model.doGenerateCalls.at(-1) ?? model.doStreamCalls.at(-1) ?? {}
    return { told: JSON.stringify(prompt?.at(-1)?.content), offered: offered?.map(({ name }) => name) }
  }

  it.each([false, true])(
    'is told with what it found, and is as without us; streamed: %s',
    async (isStream) => {
      for (const search of [undefined, () => ['orders']]) {
        const { dispatcher, events } = dispatcherWith()
        const observed = await searchesFor(dispatcher, search, isStream)
        expect(observed).toEqual(await searchesFor(undefined, search, isStream))
        expect(observed.offered).toContain('orders')
        expect(find(events, 'afterToolCall')).toMatchObject({ apiName: 'find', success: true })
      }
    },
  )

  it('is not run where it is mocked, and finds what the mock says', async () => {
    const search = vi.fn(() => ['orders'])
    for (const own of [undefined, search]) {
      for (const name of ['orders', 'invoices']) {
        const dispatcher = new HookDispatcher()
        using mocks = mockTools(dispatcher, [mock('find').returns({ tools: [{ name }] })])
        const { told, offered } = await searchesFor(dispatcher, own)
        mocks.assertUsed()
        expect(told).toContain(name)
        expect(offered).toEqual(name === 'orders' ? ['orders', 'find'] : ['find'])
      }
    }
    expect(search).not.toHaveBeenCalled()
  })

  it('searches for what a gate makes of its query, or not at all where only the SDK could', async () => {
    const changing = () =>
      dispatcherWith(gate('beforeToolCall', () => mutate({ query: 'invoices' }))).dispatcher
    const queries: string[] = []
    await searchesFor(changing(), ({ query }) => {
      queries.push(query)
      return []
    })
    expect(queries).toEqual(['invoices'])
    const { told, offered } = await searchesFor(changing())
    expect(told).toContain('searches by itself')
    expect(offered).toEqual(['find'])
  })

  it('tells the model what a gate makes of what it found', async () => {
    const { dispatcher } = dispatcherWith(gate('afterToolCall', () => mutate('something else')))
    expect((await searchesFor(dispatcher)).told).toContain('something else')
    const denying = dispatcherWith(gate('afterToolCall', () => deny('not for you')))
    const { told } = await searchesFor(denying.dispatcher, undefined, true)
    expect(told).toContain('not for you')
    expect(told).not.toContain('Finds orders.')
  })
})

describe('a loop that its conditions end', () => {
  const again = () => says(...Array.from({ length: 30 }, (_, i) => [call('search', { q: 'a' }, `call_${i}`)]))
  const reasonsOf = async (asked: object, model = again()) => {
    const { dispatcher, events } = dispatcherWith()
    const { generateText, streamText, ToolLoopAgent } = observeAISDK(ai, { dispatcher })
    const all = { model, tools: { search: searchTool().search }, onWarning() {}, ...asked } as const
    await generateText({ ...all, prompt: 'hi' })
    await streamText({ ...all, prompt: 'hi' }).consumeStream()
    await new ToolLoopAgent(all).generate({ prompt: 'hi' })
    return findAll(events, 'onComplete').map(({ reason }) => reason)
  }
  const LIMIT = 2

  it.each([
    ['isStepCount', { stopWhen: ai.isStepCount(2) }],
    ['isStepCount beside others', { stopWhen: [ai.hasToolCall('other'), ai.isStepCount(2)] }],
    ['a count of the user', { stopWhen: ({ steps }: { steps: unknown[] }) => steps.length >= LIMIT }],
    ['the default', {}],
  ])('by %s is one of too many steps', async (_, asked) => {
    vi.spyOn(console, 'warn').mockReturnValue()
    vi.spyOn(console, 'info').mockReturnValue()
    expect(await reasonsOf(asked)).toEqual(['max_steps', 'max_steps', 'max_steps'])
  })

  it.each([
    ['a call that it waits for', { stopWhen: ai.hasToolCall('search') }],
    ['such a call at the limit', { stopWhen: [ai.hasToolCall('search'), ai.isStepCount(1)] }],
    [
      'anything else of the user',
      {
        stopWhen: ({ steps }: { steps: { toolCalls: unknown[] }[] }) =>
          steps.length > 0 && steps[0]?.toolCalls.length === 1,
      },
    ],
  ])('by %s is done', async (_, asked) => {
    expect(await reasonsOf(asked)).toEqual(['done', 'done', 'done'])
  })

  it('is done with its answer in the last step that it may have, and with the one call that was asked for', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    const { search } = searchTool()
    const model = says([call('search', { q: 'a' })], [text('done')], [call('search', { q: 'a' })])
    const asked = { model, tools: { search }, prompt: 'hi' }
    await generateText({ ...asked, stopWhen: ai.isStepCount(2) })
    await generateText({ ...asked, toolChoice: { type: 'tool', toolName: 'search' } })
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }, { reason: 'done' }])
  })

  it('and that a gate has ended is denied', async () => {
    const { dispatcher, events } = dispatcherWith(gate('afterToolCall', () => deny('enough', { stop: true })))
    const { search } = searchTool()
    const { generateText } = observeAISDK(ai, { dispatcher })
    await generateText({ model: again(), tools: { search }, prompt: 'hi' }).catch(() => {})
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'denied' }])
  })
})

describe('with hookspan and without', () => {
  const script = () => [[call('search', { q: 'a' }), call('failing', {})], [text('done')]]
  const tools = () => ({
    search: searchTool().search,
    failing: ai.tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => {
        throw new Error('broken')
      },
    }),
    progress: ai.tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'one'
        yield 'two'
      },
    }),
  })

  it('generateText gives the same result and tells the same events', async () => {
    const run = async (generateText: typeof ai.generateText) => {
      const told: unknown[] = []
      const note = (name: string) => (event: unknown) => void told.push([name, event])
      const result = await generateText({
        model: says(...script()),
        tools: tools(),
        prompt: 'go',
        ...five,
        onStart: note('onStart'),
        onStepStart: note('onStepStart'),
        onToolExecutionStart: note('onToolExecutionStart'),
        onToolExecutionEnd: note('onToolExecutionEnd'),
        onStepEnd: note('onStepEnd'),
        onEnd: note('onEnd'),
      })
      return plain({ told, steps: result.steps, text: result.text, usage: result.totalUsage })
    }
    const { dispatcher } = dispatcherWith()
    expect(await run(observeAISDK(ai, { dispatcher }).generateText)).toEqual(await run(ai.generateText))
  })

  it.each([
    ['changes', () => mutate('hidden'), ['hidden', 'hidden']],
    ['withholds', () => deny('not for you'), []],
    ['lets', () => proceed(), ['one', 'two', 'two']],
  ])(
    'streamText shows nothing of a result on its way before a gate that %s it',
    async (_how, decide, shown) => {
      const { dispatcher } = dispatcherWith(gate('afterToolCall', decide))
      const { progress } = tools()
      const model = says([call('progress', {})], [text('done')])
      const result = observeAISDK(ai, { dispatcher }).streamText({
        ...five,
        ...{ model, tools: { progress }, prompt: 'go' },
      })
      const seen: unknown[] = []
      for await (const part of result.fullStream) if (part.type === 'tool-result') seen.push(part.output)

      expect(seen).toEqual(shown)
    },
  )

  it('a stream whose run cannot be ended fails, and does not hang', async () => {
    const { streamText } = observeAISDK(ai, { dispatcher: new HookDispatcher() })
    const refused = new HookspanError('STATE_CLAIMED', 'another one has it')
    const complete = vi.spyOn(Operation.prototype, 'complete').mockRejectedValue(refused)
    try {
      const { textStream } = streamText({ model: says([text('hi')]), prompt: 'hi' })
      const read = async () => {
        for await (const _chunk of textStream);
      }
      await expect(read()).rejects.toThrow('another one has it')
    } finally {
      complete.mockRestore()
    }
  })

  it('streamText gives the same parts, preliminary results included', async () => {
    const run = async (streamText: typeof ai.streamText) => {
      const result = streamText({
        model: says([call('search', { q: 'a' }), call('failing', {}), call('progress', {})], [text('done')]),
        tools: tools(),
        prompt: 'go',
        ...five,
      })
      const parts: unknown[] = []
      for await (const part of result.fullStream) parts.push(part)
      return plain({ parts, text: await result.text, messages: (await result.response).messages })
    }
    const { dispatcher, events } = dispatcherWith()
    const bare = (await run(ai.streamText)) as { parts: Part[] }
    expect(await run(observeAISDK(ai, { dispatcher }).streamText)).toEqual(bare)
    expect(bare.parts.filter(({ preliminary }) => preliminary)).toHaveLength(2)
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'afterToolCall')).toHaveLength(2)
    expect(typesOf(events).at(-1)).toBe('onComplete')
  })

  it('refuses agents of a class that makes those of another one, as a tracer may put it there', () => {
    // As LangSmith's `wrapAISDK()`: what extends the class gets an agent that has nothing of it.
    const ToolLoopAgent = new Proxy(ai.ToolLoopAgent, {
      construct: (Agent, args) => new (Agent as new (...args: unknown[]) => object)(...args),
    })
    const observed = observeAISDK({ ...ai, ToolLoopAgent }, { dispatcher: new HookDispatcher() })
    expect(() => new observed.ToolLoopAgent({ model: 'x' })).toThrow('wrap(observeAISDK(ai, ...))')
  })

  it('an agent gives the same UI message stream', async () => {
    const run = async (Agent: typeof ai.ToolLoopAgent) => {
      const agent = new Agent({ id: 'support', model: says(...script()), tools: tools(), maxRetries: 0 })
      const result = await agent.stream({ prompt: 'go' })
      const chunks: unknown[] = []
      for await (const chunk of result.toUIMessageStream()) chunks.push(chunk)
      return plain(chunks)
    }
    const { dispatcher, events } = dispatcherWith()
    const { ToolLoopAgent } = observeAISDK(ai, { dispatcher })
    expect(await run(ToolLoopAgent)).toEqual(await run(ai.ToolLoopAgent))
    await dispatcher.drain()
    expect(find(events, 'onComplete')).toMatchObject({
      reason: 'done',
      agentName: 'support',
      content: 'done',
    })
  })

  it('whatever fails of ours, the agent does not notice', async () => {
    const dispatcher = new HookDispatcher({ onHookError: () => {} })
    const fail = () => {
      throw new Error('ours')
    }
    dispatcher.use({
      name: 'broken',
      hooks: [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
        id: `broken-${type}`,
        type,
        handler: fail,
      })),
      instrument: { start: fail, onEvent: fail, onRelease: fail },
    })
    const { generateText, streamText } = observeAISDK(ai, { dispatcher })
    const given = () => ({ model: says(...script()), tools: tools(), prompt: 'go', ...five })
    expect((await generateText(given())).text).toBe('done')
    expect(await streamText(given()).text).toBe('done')
  })

  it('has the tools that another tool adds to the same object, and decides on them', async () => {
    const run = async (used: typeof ai) => {
      const ran: string[] = []
      const made = (name: string, adds: () => object = () => ({})) => {
        const execute = async () => {
          ran.push(name)
          Object.assign(tools, adds())
          return name
        }
        return ai.tool({ inputSchema: z.object({}), execute })
      }
      const tools: Record<string, ai.Tool> = {}
      tools.load = made('load', () => ({ wipe: made('wipe'), list: made('list') }))
      const model = says([call('load', {})], [call('wipe', {}), call('list', {})], [text('done')])
      const { text: said } = await used.generateText({ model, tools, prompt: 'go', ...five })
      return {
        said,
        ran,
        offered: model.doGenerateCalls.map((asked) => asked.tools?.map(({ name }) => name)),
      }
    }
    const bare = await run(ai)
    expect(bare.ran).toEqual(['load', 'wipe', 'list'])
    const { dispatcher } = dispatcherWith()
    expect(await run(observeAISDK(ai, { dispatcher }))).toEqual(bare)
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    expect((await run(observeAISDK(ai, { dispatcher }))).ran).toEqual(['load', 'list'])
  })

  it('tells the tool of an MCP server that says it failed as failed, and the model what the tool said', async () => {
    const gives = (said: string) => ({ content: [{ type: 'text', text: said }], isError: true })
    // As a client of `@ai-sdk/mcp` makes it.
    const stock = ai.dynamicTool({
      inputSchema: z.object({}),
      execute: async () => gives('no such item'),
      toModelOutput: ({ output }) => ({ type: 'content', value: (output as { content: never }).content }),
    })
    const run = async (used: typeof ai) => {
      const model = says([call('stock', {})], [text('done')])
      const { steps } = await used.generateText({ model, tools: { stock }, prompt: 'go', ...five })
      return { told: toldTo(model), content: plain(steps[0]?.content) }
    }
    const { dispatcher, events } = dispatcherWith()

    expect(await run(observeAISDK(ai, { dispatcher }))).toEqual(await run(ai))
    expect(find(events, 'afterToolCall')).toMatchObject({ success: false, content: 'no such item' })

    const censor = gate('afterToolCall', () => mutate(gives('***')))
    dispatcher.use({ name: 'censor', gates: [censor] })
    const { told } = await run(observeAISDK(ai, { dispatcher }))
    expect(told).toContain('[{"type":"text","text":"***"}]')
  })

  it.each(['generateText', 'streamText'] as const)(
    'tells arguments that the schema refuses as a call that failed, in %s, and nobody is asked',
    async (name) => {
      const run = async (used: typeof ai) => {
        const model = says([call('search', { q: 7 })], [text('done')])
        const result = await used[name]({
          model,
          tools: { search: searchTool().search },
          prompt: 'go',
          ...five,
        })
        return { said: await result.text, told: toldTo(model) }
      }
      const { dispatcher, events } = dispatcherWith(gate('beforeToolCall', () => expect.unreachable()))
      expect(await run(observeAISDK(ai, { dispatcher }))).toEqual(await run(ai))
      await dispatcher.drain()
      const failed = {
        apiName: 'search',
        args: { q: 7 },
        stepIndex: 0,
        errorType: 'AI_InvalidToolInputError',
      }
      expect(findAll(events, 'onToolCallError')).toMatchObject([failed])
    },
  )

  it("an error of the model, and the SDK's retries, are as they were", async () => {
    const failing = new MockLanguageModelV4({
      doGenerate: async () => {
        throw new Error('no such model')
      },
    })
    const { dispatcher, events } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    await expect(generateText({ model: failing, prompt: 'go' })).rejects.toThrow('no such model')
    await dispatcher.drain()
    expect(typesOf(events)).toEqual([
      'onStart',
      'beforeStep',
      'beforeLlmCall',
      'onLlmCallError',
      'afterStep',
      'onError',
      'onComplete',
    ])
  })
})

describe('what belongs to the user', () => {
  it('holds into the tool: its context, its signal, `this`', async () => {
    const mine = new AsyncLocalStorage<string>()
    const controller = new AbortController()
    const seen: unknown[] = []
    class Shelf {
      readonly inputSchema = z.object({})
      readonly #secret = 'mine'
      execute(_input: object, { abortSignal }: { abortSignal?: AbortSignal }) {
        seen.push(mine.getStore(), this.#secret, abortSignal?.aborted)
        return 'ok'
      }
    }
    const { dispatcher } = dispatcherWith(gate('beforeToolCall', async () => {}))
    const { generateText } = observeAISDK(ai, { dispatcher })
    await mine.run('here', () =>
      generateText({
        model: says([call('shelf', {})], [text('done')]),
        tools: { shelf: new Shelf() as unknown as ai.Tool },
        prompt: 'go',
        abortSignal: controller.signal,
        ...five,
      }),
    )
    expect(seen).toEqual(['here', 'mine', false])
  })

  it('may be frozen, and may have the names of what every object has', async () => {
    const { dispatcher, events } = dispatcherWith()
    const execute = async () => 'ok'
    const tool = () => Object.freeze(ai.tool({ inputSchema: z.object({}), execute }))
    const model = Object.freeze(says([call('constructor', {}), call('toString', {})], [text('done')]))
    const { generateText } = observeAISDK(ai, { dispatcher })
    const tools = Object.freeze({ constructor: tool(), toString: tool() })
    const given = { model, tools, prompt: 'go', toolApproval: {}, ...five }
    const result = await generateText(given as never)
    expect(result.text).toBe('done')
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'afterToolCall')).toHaveLength(2)
  })

  it('may be wrapped once more by who instruments the SDK, however that puts it there', async () => {
    const wrapped: string[] = []
    const wrap = (
      model: ai.LanguageModel,
      put: (name: 'doGenerate' | 'doStream', value: unknown) => void,
    ) => {
      for (const name of ['doGenerate', 'doStream'] as const) {
        const own = (model as MockLanguageModelV4)[name] as (options: unknown) => unknown
        put(name, function (this: unknown, options: unknown) {
          wrapped.push(name)
          return own.call(this, options)
        })
      }
    }
    const instrumented = (how: 'defined' | 'assigned'): typeof ai => ({
      ...ai,
      generateText: ((params: { model: MockLanguageModelV4 }) => {
        const { model } = params
        wrap(model, (name, value) => {
          if (how === 'defined') Object.defineProperty(model, name, { value })
          else model[name] = value as never
        })
        expect(Reflect.ownKeys(model)).toContain('doGenerate')
        return ai.generateText({ prompt: 'go', ...params })
      }) as unknown as typeof ai.generateText,
    })
    for (const how of ['defined', 'assigned'] as const) {
      const { dispatcher, events } = dispatcherWith()
      const { generateText } = observeAISDK(instrumented(how), { dispatcher })
      const { text: said } = await generateText({ model: says([text('done')]), prompt: 'go' })
      expect({ how, said, wrapped: wrapped.splice(0) }).toEqual({
        how,
        said: 'done',
        wrapped: ['doGenerate'],
      })
      await dispatcher.drain()
      expect(typesOf(events).filter((type) => type === 'beforeLlmCall')).toHaveLength(1)
    }
  })

  it('experimental_streamTextLowMemory is a run, whose tools are decided on', async () => {
    const { dispatcher, events } = dispatcherWith(gate('beforeToolCall', () => deny('no')))
    const { search, execute } = searchTool()
    const { experimental_streamTextLowMemory: stream } = observeAISDK(ai, { dispatcher })
    const model = says([call('search', { q: 'a' })], [text('done')])
    const parts: string[] = []
    const result = stream({ model, tools: { search }, prompt: 'go', ...five })
    for await (const part of result.stream) parts.push(part.type)
    await dispatcher.drain()
    expect(execute).not.toHaveBeenCalled()
    expect(parts).toContain('tool-output-denied')
    expect(typesOf(events).at(-1)).toBe('onComplete')

    const controller = new AbortController()
    const cut = stream({ model: says([text('done')]), prompt: 'go', abortSignal: controller.signal })
    for await (const part of cut.stream) if (part.type === 'text-delta') controller.abort()
    await vi.waitFor(() => expect(typesOf(events).filter((type) => type === 'onComplete')).toHaveLength(2))
  })

  it('has each function that calls a model, or the docs say that it is not seen', () => {
    const page = readFileSync('docs/adapters/ai-sdk.md', 'utf8')
    const callers = Object.keys(ai).filter((name) =>
      /^(experimental_)?(generate(?!Id)|stream|embed|rerank|transcribe|decide|evaluate|extract$|start)/.test(
        name,
      ),
    )
    const { dispatcher } = dispatcherWith()
    const observed = observeAISDK(ai, { dispatcher }) as Record<string, unknown>
    const unseen = callers.filter((name) => observed[name] === (ai as Record<string, unknown>)[name])
    expect(callers.length - unseen.length).toBeGreaterThan(7)
    expect(unseen.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('tells an agent by what it was made with, as it tells a call', async () => {
    using trace = traced({ captureContent: true })
    const { ToolLoopAgent, generateText } = observeAISDK(ai, { dispatcher: trace.dispatcher })
    const settings = () => ({
      model: says([text('hi')]),
      instructions: 'Be brief.',
      telemetry: { functionId: 'clerk' },
    })
    await generateText({ ...settings(), prompt: 'go' })
    await new ToolLoopAgent({ id: 'other', ...settings() }).generate({ prompt: 'go' })
    await new ToolLoopAgent(settings()).stream({ prompt: 'go' }).then((result) => result.consumeStream())
    await trace.dispatcher.drain()
    const runs = trace.spans().filter(({ name }) => name === 'invoke_agent clerk')
    expect(runs.map(({ attributes }) => attributes['gen_ai.system_instructions'])).toEqual(
      Array(3).fill('[{"type":"text","content":"Be brief."}]'),
    )
  })

  it('is not held by a signal that outlives its runs', async () => {
    const { signal } = new AbortController()
    const { dispatcher } = dispatcherWith()
    const { streamText } = observeAISDK(ai, { dispatcher })
    const before = getEventListeners(signal, 'abort').length
    for (let run = 0; run < 3; run++) {
      await streamText({ model: says([text('hi')]), prompt: 'go', abortSignal: signal }).consumeStream()
    }
    await dispatcher.drain()
    await vi.waitFor(() => expect(getEventListeners(signal, 'abort').length).toBe(before))
  })

  it('keeps telemetry integrations, and leaves out those that make the same spans', async () => {
    class OpenTelemetry {
      onStart = vi.fn()
    }
    const spans = new OpenTelemetry()
    const own = { onStart: vi.fn() }
    const { dispatcher } = dispatcherWith()
    const run = (sdkSpans: 'omit' | 'nest') =>
      observeAISDK(ai, { dispatcher, sdkSpans }).generateText({
        model: says([text('hi')]),
        prompt: 'go',
        telemetry: { integrations: [spans, own] },
      })
    await run('omit')
    expect([spans.onStart.mock.calls.length, own.onStart.mock.calls.length]).toEqual([0, 1])
    await run('nest')
    expect([spans.onStart.mock.calls.length, own.onStart.mock.calls.length]).toEqual([1, 2])
  })

  it('lets prepareStep see and change the model', async () => {
    const first = says([call('search', { q: 'a' })])
    const second = says([text('second')])
    const { dispatcher, events } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    const models: unknown[] = []
    const result = await generateText({
      model: first,
      tools: { search: searchTool().search },
      prompt: 'go',
      ...five,
      prepareStep: ({ model, stepNumber }) => {
        models.push(model)
        return stepNumber === 1 ? { model: second } : undefined
      },
    })
    await dispatcher.drain()
    expect(result.text).toBe('second')
    expect(models).toEqual([first, first])
    expect(events.filter(({ hookType }) => hookType === 'afterLlmCall')).toHaveLength(2)
  })

  it('finds a model that is named by a text', async () => {
    const { dispatcher, events } = dispatcherWith()
    const scope = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown }
    scope.AI_SDK_DEFAULT_PROVIDER = ai.customProvider({ languageModels: { small: says([text('hi')]) } })
    try {
      const { generateText } = observeAISDK(ai, { dispatcher })
      expect((await generateText({ model: 'small', prompt: 'go' })).text).toBe('hi')
    } finally {
      delete scope.AI_SDK_DEFAULT_PROVIDER
    }
    await dispatcher.drain()
    expect(find(events, 'beforeLlmCall')).toMatchObject({ model: 'scripted', provider: 'openai' })
  })
})

describe('one mock, one gate, one approval', () => {
  it('a mock stands in, and the tool does not run', async () => {
    const { dispatcher } = dispatcherWith()
    const { search, execute } = searchTool()
    using mocks = mockTools(dispatcher, [mock('search').when({ q: 'a' }).returns('mocked')])
    const model = says([call('search', { q: 'a' })], [text('done')])
    await observeAISDK(ai, { dispatcher }).generateText({ model, tools: { search }, prompt: 'go', ...five })
    expect(execute).not.toHaveBeenCalled()
    expect(toldTo(model)).toContain('mocked')
    mocks.assertUsed()
  })

  it('a mock is held to the schema of the tool', async () => {
    const { dispatcher } = dispatcherWith()
    const { search } = searchTool()
    using mocks = mockTools(dispatcher, [mock('search').returns('mocked')])
    const model = says([call('search', { q: 'a' })], [text('done')])
    const gated = dispatcher.use({ name: 'gates', gates: [gate('beforeToolCall', () => mutate({ q: 7 }))] })
    await observeAISDK(ai, { dispatcher })
      .generateText({ model, tools: { search }, prompt: 'go', ...five })
      .catch(() => {})
    gated[Symbol.dispose]()
    expect(() => mocks.assertUsed()).toThrow(/q/)
  })

  it('stands in for a tool that the client runs', async () => {
    const { dispatcher } = dispatcherWith()
    using _ = mockTools(dispatcher, [mock('confirm').returns('yes')])
    const model = says([call('confirm', {})], [text('done')])
    const confirm = ai.tool({ inputSchema: z.object({}), outputSchema: z.string() })
    const { generateText } = observeAISDK(ai, { dispatcher })
    const result = await generateText({ model, tools: { confirm }, prompt: 'go', ...five })
    expect(result.text).toBe('done')
    expect(toldTo(model)).toContain('yes')
  })

  it('a gate for a tool that the provider runs is refused when the run starts', async () => {
    const { dispatcher } = dispatcherWith(toolPolicy({ deny: ['web_search'] }))
    const model = says([text('hi')])
    const web_search = ai.tool({
      type: 'provider',
      id: 'openai.web_search',
      isProviderExecuted: true,
      args: {},
      inputSchema: z.object({}),
      outputSchema: z.object({}),
    } as never)
    const { generateText, ToolLoopAgent } = observeAISDK(ai, { dispatcher })
    const tools = { web_search }
    const agent = new ToolLoopAgent({ model, tools })
    const preparing = new ToolLoopAgent({ model, prepareCall: (given) => ({ ...given, tools }) as never })
    const inATool = generateText({
      model: says([call('ask', {})], [text('done')]),
      tools: {
        ask: ai.tool({
          inputSchema: z.object({}),
          execute: () => agent.generate({ prompt: 'go' }).then(({ text }) => text),
        }),
      },
      prompt: 'go',
      ...five,
    })
    expect((await inATool).steps[0]?.toolResults).toEqual([])
    for (const run of [
      generateText({ model, tools, prompt: 'go' }),
      agent.generate({ prompt: 'go' }),
      agent.stream({ prompt: 'go' }),
      preparing.generate({ prompt: 'go' }),
    ])
      await expect(run).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    expect([...model.doGenerateCalls, ...model.doStreamCalls]).toEqual([])
    expect(dispatcher.stats().operations).toBe(0)
    // Of an agent that is given none of them nobody is refused.
    const without = new ToolLoopAgent({
      model,
      tools,
      prepareCall: ({ tools: _, ...given }) => given as never,
    })
    expect((await without.generate({ prompt: 'go' })).text).toBe('hi')
  })

  /** Defined by a provider, and not run by it: a shell, an editor, a computer. */
  const shell = (execute?: (input: unknown) => unknown) =>
    ai.tool({
      type: 'provider',
      id: 'anthropic.bash',
      isProviderExecuted: false,
      args: {},
      inputSchema: z.object({ command: z.string() }),
      execute,
    } as never)

  it('a tool that a provider defines and that runs here parks the run for a human', async () => {
    const { dispatcher } = dispatcherWith(requireHuman({ match: ['bash'] }))
    dispatcher.use({ name: 'park', approver: { requestApproval: async () => ({ decision: 'park' }) } })
    const { generateText, streamText } = observeAISDK(ai, { dispatcher })
    const execute = vi.fn()
    const given = () => ({
      model: says([call('bash', { command: 'rm' })]),
      tools: { bash: shell(execute) },
      prompt: 'go',
      ...five,
    })
    const streamed = streamText(given())
    await streamed.consumeStream()
    for (const result of [await generateText(given()), streamed])
      expect(await parkedRun(result)).toMatchObject({ waitingFor: 'human', waiting: [{ apiName: 'bash' }] })
    expect(execute).not.toHaveBeenCalled()
  })

  it('a tool that a provider defines and that the client runs is decided on', async () => {
    const { dispatcher } = dispatcherWith(toolPolicy({ deny: ['bash'] }))
    const model = says([call('bash', { command: 'rm' })], [text('done')])
    const { generateText } = observeAISDK(ai, { dispatcher })
    const result = await generateText({ model, tools: { bash: shell() }, prompt: 'go', ...five })
    expect(result.text).toBe('done')
    expect(toldTo(model)).toContain('denied')
  })

  it('a policy denies by name, in a stream, too', async () => {
    const { dispatcher, events } = dispatcherWith(toolPolicy({ deny: ['search'] }))
    const { search, execute } = searchTool()
    const model = says([call('search', { q: 'a' })], [text('done')])
    const result = observeAISDK(ai, { dispatcher }).streamText({
      model,
      tools: { search },
      prompt: 'go',
      ...five,
    })
    expect(await result.text).toBe('done')
    expect(execute).not.toHaveBeenCalled()
    expect(toldTo(model)).toContain('denied')
    await dispatcher.drain()
    expect(find(events, 'afterToolCall')).toMatchObject({ apiName: 'search', success: false })
  })

  it('a human is waited for in the process, and may change the arguments', async () => {
    const { dispatcher } = dispatcherWith(requireHuman({ match: ['search'] }))
    dispatcher.use({
      name: 'human',
      approver: {
        requestApproval: async ({ argsDigest }) => ({
          decision: 'edit',
          approver: 'ines',
          args: { q: 'b' },
          argsDigest,
        }),
      },
    })
    const { search, execute } = searchTool()
    const model = says([call('search', { q: 'a' })], [text('done')])
    await observeAISDK(ai, { dispatcher }).generateText({ model, tools: { search }, prompt: 'go', ...five })
    expect(execute.mock.calls[0]?.[0]).toEqual({ q: 'b' })
  })

  it.each([
    ['a Standard Schema', z.object({ q: z.string() })],
    ['a schema of the SDK', ai.jsonSchema({ type: 'object' }, { validate: onlyText })],
    ['a function', () => ai.zodSchema(z.object({ q: z.string() }))],
    [
      'a JSON Schema, of which the SDK checks nothing,',
      ai.jsonSchema({ type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }),
    ],
  ])('an edit that does not fit %s of the tool is an error, and runs nothing', async (_name, inputSchema) => {
    const answers = [{ q: 7 }, { query: 'b' }, { q: 'b' }]
    const { dispatcher, events } = dispatcherWith(requireHuman({ match: ['search'] }))
    const requestApproval = async () => ({ decision: 'edit' as const, args: answers.shift() })
    dispatcher.use({ name: 'human', approver: { requestApproval } })
    const execute = vi.fn(async (_input: unknown) => 'found')
    const tools = { search: ai.tool({ inputSchema: inputSchema as never, execute }) }
    const asked = ['a', 'b', 'c'].map((q) => [call('search', { q })])
    const model = says(...asked, [text('done')])
    await observeAISDK(ai, { dispatcher }).generateText({ model, tools, prompt: 'go', ...five })
    expect(execute.mock.calls.map(([input]) => input)).toEqual([{ q: 'b' }])
    expect(toldTo(model)).toMatch(
      /The arguments were changed, and do not fit the schema of the tool: .*q.*expected/,
    )
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'onToolCallError')).toHaveLength(2)
  })

  it('an edit counts where the schema takes nothing that it gave itself', async () => {
    const { dispatcher } = dispatcherWith(gate('beforeToolCall', () => mutate({ q: 8 })))
    const execute = vi.fn(async (_input: unknown) => 'found')
    const inputSchema = z.object({ q: z.string().transform(Number) })
    const model = says([call('search', { q: '7' })], [text('done')])
    const tools = { search: ai.tool({ inputSchema, execute }) }
    await observeAISDK(ai, { dispatcher }).generateText({ model, tools, prompt: 'go', ...five })
    expect(execute.mock.calls[0]?.[0]).toEqual({ q: 8 })
  })

  it('a denial that ends the run lets the SDK end it with its result', async () => {
    const { dispatcher, events } = dispatcherWith(gate('beforeToolCall', () => deny('no', { stop: true })))
    const model = says([call('search', { q: 'a' })], [text('never')])
    const { generateText } = observeAISDK(ai, { dispatcher })
    const result = await generateText({
      model,
      tools: { search: searchTool().search },
      prompt: 'go',
      ...five,
    })
    expect(result.steps).toHaveLength(1)
    await dispatcher.drain()
    expect(find(events, 'onComplete')).toMatchObject({ reason: 'denied' })
  })

  it('a run that is refused asks no model', async () => {
    const { dispatcher } = dispatcherWith(gate('onStart', () => deny('closed')))
    const { generateText, streamText } = observeAISDK(ai, { dispatcher })
    const model = says([text('never')])
    await expect(generateText({ model, prompt: 'go' })).rejects.toMatchObject({ code: 'RUN_DENIED' })
    const errors: unknown[] = []
    const onError = ({ error }: { error: unknown }) => void errors.push(error)
    await streamText({ model, prompt: 'go', onError }).consumeStream()
    expect(errors).toEqual([expect.objectContaining({ code: 'RUN_DENIED' })])
    expect(model.doGenerateCalls.length + model.doStreamCalls.length).toBe(0)
  })

  it('a gate changes what the run is asked', async () => {
    const { dispatcher } = dispatcherWith(gate('onStart', () => mutate('something else')))
    const { generateText, streamText, ToolLoopAgent } = observeAISDK(ai, { dispatcher })
    const models = [says([text('hi')]), says([text('hi')]), says([text('hi')])]
    await generateText({ model: models[0] as never, prompt: 'go' })
    await streamText({ model: models[1] as never, prompt: 'go' }).consumeStream()
    await new ToolLoopAgent({ model: models[2] as never }).generate({ prompt: 'go' })
    for (const model of models) expect(toldTo(model)).toContain('something else')
  })

  it.each([
    ['a text', { prompt: 'my secret' }],
    ['messages', { messages: [{ role: 'user', content: 'my secret' }] }],
    ['messages as the prompt', { prompt: [{ role: 'user', content: 'my secret' }] }],
  ] as [string, { prompt: string }][])(
    'also where its result is a stream, asked by %s',
    async (_how, asked) => {
      const hide = gate('onStart', ({ payload }) =>
        mutate(JSON.parse(JSON.stringify(payload).replace('secret', '***'))),
      )
      const { dispatcher } = dispatcherWith(hide)
      const { streamObject, streamText, ToolLoopAgent } = observeAISDK(ai, { dispatcher })
      const models = Array.from({ length: 3 }, () => says([text('{}')]))
      await streamText({ model: models[0] as never, ...asked }).consumeStream()
      await (await new ToolLoopAgent({ model: models[1] as never }).stream(asked)).consumeStream()
      const begun: unknown[] = []
      const onStart = ({ prompt, messages }: object & { prompt?: unknown; messages?: unknown }) =>
        void begun.push(prompt ?? messages)
      const object = streamObject({ model: models[2] as never, schema: z.object({}), ...asked, onStart })
      for await (const _ of object.partialObjectStream);
      for (const model of models) {
        expect(JSON.stringify(model.doStreamCalls[0]?.prompt)).toContain('my ***')
        expect(JSON.stringify(model.doStreamCalls[0]?.prompt)).not.toContain('secret')
      }
      // What its user is told is what they asked.
      expect(begun).toEqual(Object.values(asked))
    },
  )

  it('and keeps what a user says to it before its first step', async () => {
    const { dispatcher } = dispatcherWith(gate('onStart', () => mutate('something else')))
    const model = says([text('hi')])
    const steering = ai.experimental_createSteering()
    const said = steering.steer('Paris in Texas')
    const given = { model, prompt: 'go', experimental_steering: steering }
    await observeAISDK(ai, { dispatcher }).streamText(given).consumeStream()
    expect(await said).toMatchObject({ type: 'delivered' })
    expect(toldTo(model)).toContain('something else')
    expect(toldTo(model)).toContain('Paris in Texas')
  })

  it.each(['generate', 'stream'])('gates change and answer model calls: %s', async (how) => {
    const say = async (decide: Gate['decide'], point: Gate['point'], model = says([text('hi')])) => {
      const { dispatcher } = dispatcherWith(gate(point, decide))
      const { generateText, streamText } = observeAISDK(ai, { dispatcher })
      const given = { model, prompt: 'go', maxRetries: 0 }
      return how === 'stream' ? await streamText(given).text : (await generateText(given)).text
    }
    const asked = says([text('hi')])
    expect(await say(() => mutate({ temperature: 0.5 }), 'beforeLlmCall', asked)).toBe('hi')
    expect((asked.doGenerateCalls[0] ?? asked.doStreamCalls[0])?.temperature).toBe(0.5)
    const never = says()
    expect(await say(() => skip('instead'), 'beforeLlmCall', never)).toBe('instead')
    expect(await say(() => deny('not now'), 'beforeLlmCall', never)).toBe('not now')
    expect(await say(() => mutate({ content: 'rewritten' }), 'afterLlmCall')).toBe('rewritten')
  })

  it.each([
    [{ max_tokens: 5 }, 'Say `maxOutputTokens`'],
    [{ messages: [] }, 'Say `prompt`'],
    [{ top_p: 0.1 }, 'Did you mean `topP`?'],
    [{ modelId: 'cheaper' }, 'have `prepareStep` choose'],
    [{ model: 'cheaper' }, 'have `prepareStep` choose'],
    [{ stream: 'other' }, 'said by the function that is called'],
    [{ temperature: 0.1, maxOutputTokens: 5, topP: 0.2 }, undefined],
  ])('no model is asked where a gate sets what the SDK asks none: %j', async (settings, refusal) => {
    const { dispatcher } = dispatcherWith(gate('beforeLlmCall', () => mutate(settings)))
    const { generateText, streamText } = observeAISDK(ai, { dispatcher })
    const model = says([text('hi')], [text('hi')])
    const asked = [
      generateText({ ...five, model, prompt: 'go' }).then(({ text }) => text),
      new Promise((resolve, reject) => {
        const result = streamText({ ...five, model, prompt: 'go', onError: ({ error }) => reject(error) })
        result.text.then(resolve, () => {})
      }),
    ]
    for (const said of asked) {
      if (refusal === undefined) expect(await said).toBe('hi')
      else await expect(said).rejects.toThrow(refusal)
    }
    expect(model.doGenerateCalls.length + model.doStreamCalls.length).toBe(refusal === undefined ? 2 : 0)
    for (const call of model.doGenerateCalls) expect(call).toMatchObject(settings)
  })

  it('a last word that a gate takes back is not given', async () => {
    const { dispatcher } = dispatcherWith(gate('beforeComplete', () => deny('not that')))
    const { generateText, streamText } = observeAISDK(ai, { dispatcher })
    const given = () => ({ model: says([text('secret')]), prompt: 'go' })
    await expect(generateText(given())).rejects.toMatchObject({ code: 'RUN_DENIED' })
    const errors: unknown[] = []
    await streamText(given()).consumeStream({ onError: (error) => void errors.push(error) })
    expect(errors).toEqual([expect.objectContaining({ code: 'RUN_DENIED' })])
    for (const asked of ['text', 'steps', 'response', 'output'] as const)
      await expect(streamText(given())[asked]).rejects.toMatchObject({ code: 'RUN_DENIED' })
  })

  it('streamObject() whose model says no such object has failed, as generateObject() has', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { streamObject } = observeAISDK(ai, { dispatcher })
    const { object, partialObjectStream } = streamObject({
      model: says([text('no')]),
      schema: z.object({ n: z.number() }),
      prompt: 'go',
    })
    const failed = expect(object).rejects.toThrow(/No object generated/)
    for await (const _part of partialObjectStream);
    await failed
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'error' }])
  })

  it.each([
    ['streamText()', (sdk: typeof ai, args: StreamArguments) => sdk.streamText(args)],
    [
      'an agent',
      ({ ToolLoopAgent }: typeof ai, { prompt, ...settings }: StreamArguments) =>
        new ToolLoopAgent(settings as never).stream({ prompt } as never),
    ],
  ])(
    '%s whose model says another output has failed, as generateText() has, also where nobody asks for it',
    async (_what, stream) => {
      for (const [said, reason] of [
        ['no', 'error'],
        ['{"n":"x"}', 'error'],
        ['{"n":1}', 'done'],
      ] as const) {
        const { dispatcher, events } = dispatcherWith()
        const result = await stream(observeAISDK(ai, { dispatcher }), {
          model: says([call('search', { q: 'a' })], [text(said)]),
          tools: { search: searchTool().search },
          output: ai.Output.object({ schema: z.object({ n: z.number() }) }),
          prompt: 'go',
          ...five,
        } as never)
        let streamed = ''
        for await (const piece of result.textStream) streamed += piece
        expect(streamed).toBe(said)
        await dispatcher.drain()
        expect(findAll(events, 'onComplete')).toMatchObject([{ reason }])
        expect(dispatcher.stats().operations).toBe(0)
      }
    },
  )
})

describe("the SDK's own approvals", () => {
  const asks: [string, object][] = [
    ['a function', { toolApproval: () => 'user-approval' }],
    ['a record', { toolApproval: { search: 'user-approval' } }],
  ]
  it.each(asks)('park the run, and it goes on with the answer: %s', async (_, options) => {
    const { dispatcher, events } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const messages: ai.ModelMessage[] = [{ role: 'user', content: 'go' }]
    const given = { tools: { search }, ...five, ...options }
    const first = await generateText({ model: says([call('search', { q: 'a' })]), messages, ...given })
    const parked = await parkedRun(first)
    expect(parked).toMatchObject({ waitingFor: 'human' })
    expect(execute).not.toHaveBeenCalled()
    const request = first.content.find(({ type }) => type === 'tool-approval-request') as {
      approvalId: string
    }
    const saved = JSON.parse(JSON.stringify({ parked, messages: [...messages, ...first.response.messages] }))
    const answer = { type: 'tool-approval-response' as const, approvalId: request.approvalId, approved: true }
    const second = await runWith({ resume: saved.parked }, () =>
      generateText({
        model: says([text('done')]),
        messages: [...saved.messages, { role: 'tool', content: [answer] }],
        ...given,
      }),
    )
    expect([second.text, execute.mock.calls.length]).toEqual(['done', 1])
    expect(await parkedRun(second)).toBeUndefined()
    await dispatcher.drain()
    expect(events.map(({ operationId }) => operationId)).toEqual(events.map(() => parked?.operationId))
    const once = ['onStart', 'beforeToolCall', 'afterToolCall', 'onComplete'] as const
    for (const type of [...once, 'beforeHumanIntervention', 'afterHumanIntervention'] as const) {
      expect(
        events.filter(({ hookType }) => hookType === type),
        type,
      ).toHaveLength(1)
    }
    expect(find(events, 'beforeHumanIntervention')?.pendingTools).toMatchObject([
      { apiName: 'search', args: { q: 'a' } },
    ])
    expect(find(events, 'afterHumanIntervention')).toMatchObject({ action: 'approve', outcome: 'approved' })
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index))
  })

  it.each(['generateText', 'streamText'] as const)(
    'are told as a question, and a no as its answer: %s',
    async (how) => {
      const { dispatcher, events } = dispatcherWith()
      const observed = observeAISDK(ai, { dispatcher })
      const { search, execute } = searchTool()
      const toolApproval = { search: { type: 'user-approval' as const, reason: 'it is dear' } }
      const messages: ai.ModelMessage[] = [{ role: 'user', content: 'go' }]
      const given = { tools: { search }, toolApproval, ...five }
      const say = async (model: ReturnType<typeof says>, said: ai.ModelMessage[]) => {
        const made = { model, messages: said, ...given }
        const result = how === 'generateText' ? await observed.generateText(made) : observed.streamText(made)
        if ('consumeStream' in result) await result.consumeStream()
        const [content, response] = await Promise.all([result.content, result.response])
        return { parked: await parkedRun(result), content, response }
      }
      const { parked, content, response } = await say(says([call('search', { q: 'a' })]), messages)
      await dispatcher.drain()
      expect(find(events, 'beforeHumanIntervention')).toMatchObject({ instructions: 'it is dear' })
      expect(events.map(({ hookType }) => hookType)).not.toContain('beforeToolCall')
      const asked = content.find(({ type }) => type === 'tool-approval-request') as { approvalId: string }
      const { approvalId } = asked
      const no = { type: 'tool-approval-response' as const, approvalId, approved: false, reason: 'too dear' }
      const history = [...messages, ...response.messages, { role: 'tool' as const, content: [no] }]
      await runWith({ resume: parked }, () => say(says([text('then not')]), history))
      await dispatcher.drain()
      expect(execute).not.toHaveBeenCalled()
      expect(find(events, 'afterHumanIntervention')).toMatchObject({
        ...{ action: 'rejectAndContinue', rejectionReason: 'too dear' },
      })
      expect(find(events, 'afterToolCall')).toMatchObject({ outcome: 'denied', code: 'tool_approval' })
      expect(dispatcher.stats().operations).toBe(0)
    },
  )

  it.each(['messages', 'prompt'])(
    'a no in the history is a denied call, where that is the %s',
    async (as) => {
      const { dispatcher, events } = dispatcherWith()
      const { ToolLoopAgent } = observeAISDK(ai, { dispatcher })
      const { search, execute } = searchTool()
      const agent = new ToolLoopAgent({ model: says([text('then not')]), tools: { search } })
      const history = [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            { type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: { q: 'a' } },
            { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a1', approved: false }] },
      ]
      expect((await agent.generate({ [as]: history } as never)).text).toBe('then not')
      expect(execute).not.toHaveBeenCalled()
      await dispatcher.drain()
      expect(find(events, 'afterToolCall')).toMatchObject({ outcome: 'denied', code: 'tool_approval' })
    },
  )

  it('a denial of theirs is a denied call, also of a tool that is mocked', async () => {
    const { dispatcher, events } = dispatcherWith()
    using mocks = mockTools(dispatcher, [mock('search').returns('canned').optional()])
    const { generateText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const model = says([call('search', { q: 'a' })], [text('done')])
    const toolApproval = { search: { type: 'denied' as const, reason: 'not on sundays' } }
    await generateText({ model, tools: { search }, prompt: 'go', toolApproval, ...five })
    expect(execute).not.toHaveBeenCalled()
    expect(toldTo(model)).toContain('not on sundays')
    await dispatcher.drain()
    expect(find(events, 'afterToolCall')).toMatchObject({ outcome: 'denied', code: 'tool_approval' })
    expect(mocks.calls('search')).toHaveLength(0)
  })

  it("a tool's needsApproval is asked, and a call that nobody answers is not run", async () => {
    const { dispatcher } = dispatcherWith(requireHuman({ match: ['search'] }))
    dispatcher.use({ name: 'park', approver: { requestApproval: async () => ({ decision: 'park' }) } })
    const { generateText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const messages: ai.ModelMessage[] = [{ role: 'user', content: 'go' }]
    const first = await generateText({
      model: says([call('search', { q: 'a' })]),
      tools: { search },
      messages,
      ...five,
    })
    const parked = await parkedRun(first)
    if (parked === undefined) throw new Error('not parked')
    const again = runWith({ resume: parked }, () =>
      generateText({
        model: says([text('never')]),
        tools: { search },
        messages: [...messages, ...first.response.messages],
        ...five,
      }),
    )
    await expect(again).rejects.toMatchObject({ code: 'INVALID_STATE' })
    expect(execute).not.toHaveBeenCalled()
  })
})

it.each(['generateText', 'streamText'] as const)(
  'a run that goes on before anybody has answered leaves the question open, and goes on once somebody has: %s',
  async (how) => {
    const approvals = createApprovals({ mode: 'park' })
    const { dispatcher, events } = dispatcherWith(requireHuman({ match: 'search' }))
    dispatcher.use(approvals)
    const { generateText, streamText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const messages: ai.ModelMessage[] = [{ role: 'user', content: 'go' }]
    const given = { tools: { search }, ...five }
    const both = [call('search', { q: 'a' }, 'c1'), call('search', { q: 'b' }, 'c2')]
    const first = await generateText({ model: says(both), messages, ...given })
    const saved = JSON.stringify({ parked: await parkedRun(first), messages: first.response.messages })
    const goOn = async () => {
      const { parked, messages: more } = JSON.parse(saved)
      const asked = { model: says([text('done')]), messages: [...messages, ...more], ...given }
      const errors: unknown[] = []
      const said = await runWith({ resume: parked }, async () =>
        how === 'generateText'
          ? (await generateText(asked)).text
          : streamText({ ...asked, onError: ({ error }) => void errors.push(error) }).text,
      ).catch((error: unknown) => error)
      await expect.poll(() => dispatcher.stats().operations).toBe(0)
      return errors[0] ?? said
    }
    expect(await goOn()).toMatchObject({ code: 'INVALID_STATE' })
    // One of two: the other is waited for, and neither is begun.
    for (const answered of [0, 1]) {
      const pending = await approvals.list({ status: 'pending' })
      expect(pending).toHaveLength(2 - answered)
      await approvals.respond(pending[0]?.request.id as string, { decision: 'approve' })
      if (answered === 0) expect(await goOn()).toMatchObject({ code: 'INVALID_STATE' })
    }
    expect(await goOn()).toBe('done')
    expect(execute.mock.calls.map(([{ q }]) => q)).toEqual(['a', 'b'])
    await dispatcher.drain()
    const told = (type: string) => events.filter(({ hookType }) => hookType === type).length
    expect(['afterHumanIntervention', 'afterToolCall', 'onComplete'].map(told)).toEqual([2, 2, 1])
  },
)

describe('a stream', () => {
  it('of a UI message response ends its run when the client goes away', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { streamText } = observeAISDK(ai, { dispatcher })
    const endless = new MockLanguageModelV4({
      doStream: async () => ({
        stream: new ReadableStream({
          async pull(controller) {
            await new Promise((resolve) => setImmediate(resolve))
            controller.enqueue({ type: 'text-start', id: '1' } as never)
            controller.enqueue({ type: 'text-delta', id: '1', delta: 'x' } as never)
          },
        }),
      }),
    })
    const response = streamText({ model: endless, prompt: 'go' }).toUIMessageStreamResponse()
    const reader = response.body?.getReader()
    for (let read = ''; !read.includes('text-delta'); )
      read += new TextDecoder().decode((await reader?.read())?.value)
    await reader?.cancel()
    await vi.waitFor(() => expect(typesOf(events)).toContain('onComplete'))
    expect(find(events, 'afterLlmCall')).toMatchObject({ streamEnd: 'abandoned' })
  })

  it('that somebody reads after it was left goes on, and its tools run', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { streamText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const slow = (parts: Part[]) =>
      ReadableStream.from(
        (async function* () {
          for (const part of parts) {
            await new Promise((resolve) => setImmediate(resolve))
            yield part
          }
        })(),
      )
    const finish = (unified: string): Part => ({
      type: 'finish',
      finishReason: { unified, raw: unified },
      usage: USAGE,
    })
    const streams = [
      slow([
        { type: 'text-start', id: '1' },
        ...[...'looking it up'].map((delta) => ({ type: 'text-delta', id: '1', delta })),
        { type: 'text-end', id: '1' },
        call('search', { q: 'a' }),
        finish('tool-calls'),
      ]),
      slow([
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'done' },
        { type: 'text-end', id: '1' },
        finish('stop'),
      ]),
    ]
    const model = new MockLanguageModelV4({ doStream: async () => ({ stream: streams.shift() as never }) })
    const result = streamText({ model, tools: { search }, prompt: 'go', ...five })
    for await (const _ of result.textStream) break
    await vi.waitFor(() => expect(typesOf(events)).toContain('onComplete'))
    expect(await result.text).toBe('done')
    expect(execute).toHaveBeenCalledTimes(1)
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'onComplete')).toHaveLength(2)
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('that breaks fails its run, and the SDK says what it says', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { streamText } = observeAISDK(ai, { dispatcher })
    const chunks = [
      { type: 'text-start', id: '1' },
      { type: 'error', error: new Error('overloaded') },
    ]
    const model = new MockLanguageModelV4({
      doStream: async () => ({ stream: ai.simulateReadableStream({ chunks: chunks as never[] }) }),
    })
    const errors: unknown[] = []
    const result = streamText({ model, prompt: 'go', onError: ({ error }) => void errors.push(error) })
    await result.consumeStream()
    expect(errors).toHaveLength(1)
    await dispatcher.drain()
    expect(find(events, 'onLlmCallError')).toMatchObject({ errorMessage: 'overloaded' })
    expect(find(events, 'onComplete')).toMatchObject({ reason: 'error' })
  })

  const throws = (error: string) => () => {
    throw new Error(error)
  }
  const mistakes = {
    'nothing is told of what a call gave': [
      {
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: [{ ...call('find', {}), input: {} }] },
          { role: 'user', content: 'never mind' },
        ],
      },
      'AI_MissingToolResultsError',
    ],
    'a callback throws later': [
      { prepareStep: ({ stepNumber }: { stepNumber: number }) => stepNumber === 1 && throws('no')() },
      'Error',
    ],
    'it is not to go on': [{ stopWhen: throws('no') }, 'Error'],
    'the model does not do what it is to': [{ toolChoice: { type: 'tool', toolName: 'other' } }, 'AI_'],
  } as const
  it.each(Object.entries(mistakes))(
    'fails its run where no model call fails, and the SDK says what it says: %s',
    async (_, [more, failed]) => {
      for (const name of ['streamText', 'experimental_streamTextLowMemory'] as const) {
        const { dispatcher, events } = dispatcherWith()
        const parts = async (sdk: typeof ai) => {
          const find = ai.tool({ inputSchema: z.object({}), execute: () => 'found' })
          const model = says([call('find', {})], [text('done')])
          const asked = { model, tools: { find }, stopWhen: ai.isStepCount(3), onError() {}, ...more }
          const given = sdk[name](('messages' in asked ? asked : { ...asked, prompt: 'go' }) as never)
          const said: unknown[] = []
          try {
            for await (const { type } of given.stream) said.push(type)
          } catch (error) {
            said.push(String(error))
          }
          return said
        }
        expect(await parts(observeAISDK(ai, { dispatcher }))).toEqual(await parts(ai))
        await vi.waitFor(() =>
          expect(find(events, 'onComplete')).toMatchObject({
            reason: 'error',
            errorType: expect.stringContaining(failed),
          }),
        )
      }
    },
  )

  it('whose time the SDK says is up ends as interrupted', async () => {
    for (const name of ['streamText', 'experimental_streamTextLowMemory'] as const) {
      const { dispatcher, events } = dispatcherWith()
      const model = new MockLanguageModelV4({ doStream: async () => ({ stream: new ReadableStream() }) })
      const { stream } = observeAISDK(ai, { dispatcher })[name]({ model, prompt: 'go', timeout: 20 })
      for await (const _ of stream);
      await vi.waitFor(() => expect(find(events, 'onComplete')).toMatchObject({ reason: 'interrupted' }))
    }
  })

  it('and a run that is not streamed does so, too, whatever was at work when its time was up', async () => {
    const hanging = ({ abortSignal }: { readonly abortSignal?: AbortSignal | undefined }) =>
      new Promise<string>((_, reject) => {
        abortSignal?.addEventListener('abort', () => reject(abortSignal.reason), { once: true })
      })
    const search = ai.tool({ inputSchema: z.object({}), execute: (_, options) => hanging(options) })
    const asking = () => says([call('search', {})])
    for (const timeout of [20, { totalMs: 20 }, { stepMs: 20 }]) {
      for (const model of [new MockLanguageModelV4({ doGenerate: hanging as never }), asking()]) {
        const { dispatcher, events } = dispatcherWith()
        const { generateText } = observeAISDK(ai, { dispatcher })
        await expect(
          generateText({ ...five, model, prompt: 'go', tools: { search }, timeout }),
        ).rejects.toMatchObject({ name: 'TimeoutError' })
        await dispatcher.drain()
        expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
      }
    }
    const { dispatcher, events } = dispatcherWith()
    const failing = new MockLanguageModelV4({
      doGenerate: () => Promise.reject(new DOMException('too late', 'TimeoutError')),
    })
    const { generateText } = observeAISDK(ai, { dispatcher })
    await expect(generateText({ ...five, model: failing, prompt: 'go', timeout: 60_000 })).rejects.toThrow()
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'error' }])
  })

  it('of which nothing is kept ends its run when its reader leaves', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { experimental_streamTextLowMemory: streamOnce } = observeAISDK(ai, { dispatcher })
    for await (const { type } of streamOnce({ model: says([text('a long story')]), prompt: 'go' }).stream)
      if (type === 'text-delta') break
    await vi.waitFor(() => expect(find(events, 'onComplete')).toMatchObject({ reason: 'done' }))
  })

  it('that is aborted ends as interrupted', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { streamText } = observeAISDK(ai, { dispatcher })
    const controller = new AbortController()
    const model = new MockLanguageModelV4({
      doStream: async ({ abortSignal }) => ({
        stream: new ReadableStream({
          start(sink) {
            sink.enqueue({ type: 'text-start', id: '1' })
            sink.enqueue({ type: 'text-delta', id: '1', delta: 'x' })
            abortSignal?.addEventListener('abort', () => sink.error(abortSignal.reason))
          },
        }),
      }),
    })
    const result = streamText({ model, prompt: 'go', abortSignal: controller.signal })
    for await (const _ of result.textStream) controller.abort()
    await vi.waitFor(() => expect(find(events, 'onComplete')).toMatchObject({ reason: 'interrupted' }))
  })

  it('waits for a human as well', async () => {
    const { dispatcher } = dispatcherWith(requireHuman({ match: ['search'] }))
    dispatcher.use({ name: 'park', approver: { requestApproval: async () => ({ decision: 'park' }) } })
    const { streamText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const result = streamText({
      model: says([call('search', { q: 'a' })]),
      tools: { search },
      prompt: 'go',
      ...five,
    })
    await result.consumeStream()
    expect(await parkedRun(result)).toMatchObject({ waitingFor: 'human', waiting: [{ apiName: 'search' }] })
    expect(execute).not.toHaveBeenCalled()
  })
})

describe('other functions', () => {
  const model = () => says([text('{"city":"Berlin"}')])
  const schema = z.object({ city: z.string() })

  it('generateObject and streamObject are runs of one step', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { generateObject, streamObject } = observeAISDK(ai, { dispatcher })
    expect((await generateObject({ model: model(), schema, prompt: 'go' })).object).toEqual({
      city: 'Berlin',
    })
    await dispatcher.drain()
    const hooks = ['onStart', 'beforeStep', 'beforeLlmCall', 'afterLlmCall', 'afterStep', 'onComplete']
    expect(typesOf(events)).toEqual(hooks)
    events.length = 0
    const streamed = streamObject({ model: model(), schema, prompt: 'go' })
    for await (const _ of streamed.partialObjectStream);
    expect(await streamed.object).toEqual({ city: 'Berlin' })
    await dispatcher.drain()
    expect(typesOf(events)).toEqual(hooks)
  })

  it('embed is a model call', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { embed, embedMany } = observeAISDK(ai, { dispatcher })
    const vectors = () =>
      new MockEmbeddingModelV4({
        modelId: 'small',
        maxEmbeddingsPerCall: 10,
        doEmbed: async ({ values }) => ({
          embeddings: values.map(() => [1, 2]),
          usage: { tokens: 7 },
          warnings: [],
        }),
      })
    expect((await embed({ model: vectors(), value: 'x' })).embedding).toEqual([1, 2])
    expect((await embedMany({ model: vectors(), values: ['x', 'y'] })).embeddings).toHaveLength(2)
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'afterLlmCall')).toEqual([
      expect.objectContaining({
        operationName: 'embeddings',
        usage: expect.objectContaining({ inputTokens: 7 }),
      }),
      expect.objectContaining({ model: 'small' }),
    ])
  })

  it.each([
    ['redact', redact({ patterns: { name: 'Ann' } })],
    ['a gate on `input`', gate('beforeLlmCall', () => mutate({ input: ['[name] asks'] }))],
    ['a gate on `values`', gate('beforeLlmCall', () => mutate({ values: ['[name] asks'] }))],
  ])('of what is embedded, what %s makes of it is sent', async (_name, careful) => {
    const { dispatcher } = dispatcherWith(careful)
    const sent: unknown[] = []
    const doEmbed = async ({ values }: { values: string[] }) => {
      sent.push(...values)
      return { embeddings: [[1, 2]], usage: { tokens: 7 }, warnings: [] }
    }
    await observeAISDK(ai, { dispatcher }).embed({
      model: new MockEmbeddingModelV4({ doEmbed }),
      value: 'Ann asks',
    })
    expect(sent).toEqual(['[name] asks'])
  })

  it('what an onStart gate makes of the input is embedded, and ranked by', async () => {
    const { dispatcher, events } = dispatcherWith(
      gate('onStart', ({ payload }) =>
        mutate(JSON.parse(JSON.stringify(payload).replaceAll('Ann', '[name]'))),
      ),
    )
    const sent: unknown[] = []
    const doEmbed = async ({ values }: { values: string[] }) => {
      sent.push(values)
      return { embeddings: values.map(() => [1]), usage: { tokens: 7 }, warnings: [] }
    }
    const doRerank = async ({ query }: { query: string }) => {
      sent.push(query)
      return { ranking: [{ index: 0, relevanceScore: 1 }], warnings: [] }
    }
    const { embed, embedMany, rerank } = observeAISDK(ai, { dispatcher })
    const model = new MockEmbeddingModelV4({ doEmbed })
    await embed({ model, value: 'Ann asks' })
    await embedMany({ model, values: ['Ann', 'asks'] })
    await rerank({ model: new MockRerankingModelV4({ doRerank }), documents: ['a'], query: 'Ann?' })
    expect(sent).toEqual([['[name] asks'], ['[name]'], ['asks'], '[name]?'])
    await dispatcher.drain()
    const started = events.filter(({ hookType }) => hookType === 'onStart')
    expect(started).toMatchObject([{ input: 'Ann asks' }, { input: ['Ann', 'asks'] }, { input: 'Ann?' }])
  })

  it.each([
    [{ dimensions: 5 }, '`providerOptions`'],
    [{ modelId: 'cheaper' }, 'give it another one'],
    [{ providerOptions: { mine: { dimensions: 5 } } }, undefined],
  ])('of what is embedded and ranked no model is asked what would not be sent: %j', async (set, mend) => {
    const { dispatcher } = dispatcherWith(gate('beforeLlmCall', () => mutate(set as object)))
    const doEmbed = vi.fn(async (_asked: object) => ({ embeddings: [[1]], warnings: [] }))
    const doRerank = vi.fn(async (_asked: object) => ({ ranking: [{ index: 0, relevanceScore: 1 }] }))
    const { embed, rerank } = observeAISDK(ai, { dispatcher })
    const asked = [
      embed({ model: new MockEmbeddingModelV4({ doEmbed }), value: 'a' }),
      rerank({ model: new MockRerankingModelV4({ doRerank }), documents: ['a'], query: 'a' }),
    ]
    for (const one of asked) {
      if (mend === undefined) await one
      else await expect(one).rejects.toThrow(mend)
    }
    for (const model of [doEmbed, doRerank]) {
      if (mend === undefined) expect(model.mock.calls[0]?.[0]).toMatchObject(set)
      else expect(model).not.toHaveBeenCalled()
    }
  })

  it('of what is ranked, `redact` cleans the query and the documents', async () => {
    const { dispatcher } = dispatcherWith(redact({ patterns: { name: 'Ann' } }))
    const doRerank = vi.fn(async (_asked: { query: string; documents: object }) => ({
      ranking: [{ index: 0, relevanceScore: 1 }],
    }))
    const { rerank } = observeAISDK(ai, { dispatcher })
    await rerank({ model: new MockRerankingModelV4({ doRerank }), documents: ['of Ann'], query: 'Ann?' })
    expect(doRerank.mock.calls[0]?.[0]).toMatchObject({
      query: '[name]?',
      documents: { values: ['of [name]'] },
    })
  })

  it('rerank is a model call, and gates decide on what is asked', async () => {
    const { dispatcher, events } = dispatcherWith()
    const spans = new SpanTree()
    dispatcher.use({ name: 'spans', instrument: spans })
    const asked: unknown[] = []
    const model = new MockRerankingModelV4({
      modelId: 'ranks',
      doRerank: async ({ query, documents }) => {
        asked.push([query, documents.values])
        return { ranking: [{ index: 1, relevanceScore: 0.9 }], warnings: [] }
      },
    })
    const { rerank } = observeAISDK(ai, { dispatcher })
    const documents = ['a sunny day', 'a rainy day']
    const { rerankedDocuments } = await rerank({ model, documents, query: 'rain' })
    await dispatcher.drain()

    expect(rerankedDocuments).toEqual(['a rainy day'])
    expect(asked).toEqual([['rain', documents]])
    expect(typesOf(events)).toEqual(['onStart', 'beforeLlmCall', 'afterLlmCall', 'onComplete'])
    expect(spans.roots.map(({ children }) => children.map(({ name }) => name))).toEqual([['rerank ranks']])

    dispatcher.use({
      name: 'no',
      gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('not today') }],
    })
    await expect(rerank({ model, documents, query: 'sun' })).rejects.toThrow(/not today/)
    expect(asked).toHaveLength(1)
  })

  it('belong to the operation around them', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(() => generateText({ model: says([text('hi')]), prompt: 'go' }))
    await op.complete()
    await dispatcher.drain()
    expect(typesOf(events)).toEqual([
      'onStart',
      'beforeStep',
      'beforeLlmCall',
      'afterLlmCall',
      'afterStep',
      'onComplete',
    ])
    expect(new Set(events.map(({ operationId }) => operationId)).size).toBe(1)
  })

  it('an agent in a tool has the gates of its caller', async () => {
    const { dispatcher } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    const { search, execute } = searchTool()
    const inner = says([call('search', { q: 'a' })], [text('inner done')])
    const expert = ai.tool({
      inputSchema: z.object({}),
      execute: async () => {
        const { text: answer } = await generateText({
          model: inner,
          tools: { search },
          prompt: 'help',
          ...five,
        })
        return answer
      },
    })
    const outer = says([call('expert', {})], [text('done')])
    await runWith({ gates: [toolPolicy({ deny: ['search'] })] }, () =>
      generateText({ model: outer, tools: { expert }, prompt: 'go', ...five }),
    )
    expect(execute).not.toHaveBeenCalled()
    expect(toldTo(inner)).toContain('denied')
    expect(toldTo(outer)).toContain('inner done')
  })
})

describe('attaching', () => {
  it('twice is once', async () => {
    const { dispatcher, events } = dispatcherWith()
    const once = observeAISDK(ai, { dispatcher })
    const twice = observeAISDK(once, { dispatcher })
    expect(twice).toBe(once)
    await twice.generateText({ model: says([text('hi')]), prompt: 'go' })
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'beforeLlmCall')).toHaveLength(1)
    expect(() => observeAISDK(once, { dispatcher: new HookDispatcher() })).toThrow(/another dispatcher/)
  })

  it('hands through all else, and leaves the package alone', () => {
    const { dispatcher } = dispatcherWith()
    const before = ai.generateText
    const observed = observeAISDK(ai, { dispatcher })
    expect(observed.tool).toBe(ai.tool)
    expect(ai.generateText).toBe(before)
    expect(Object.keys(observed).sort()).toEqual(Object.keys(ai).sort())
  })

  it.each([
    ['no package', () => observeAISDK({}, { dispatcher: new HookDispatcher() }), /to be the ai package/],
    [
      'nothing',
      () => observeAISDK(undefined as never, { dispatcher: new HookDispatcher() }),
      /to be the ai package/,
    ],
    ['no dispatcher', () => observeAISDK(ai, {} as never), /needs a `dispatcher`/],
    [
      'a misspelt key',
      () => observeAISDK(ai, { dispatcher: new HookDispatcher(), agentname: 'x' } as never),
      /agentName/,
    ],
    [
      'a wrong switch',
      () => observeAISDK(ai, { dispatcher: new HookDispatcher(), sdkSpans: 'no' as never }),
      /"omit" or "nest"/,
    ],
    ['a misspelt run', () => runWith({ resumed: {} } as never, () => {}), /resume/],
    ['a run of nothing', () => runWith({}, undefined as never), /`fn` of runWith/],
  ])('refuses %s', (_, attach, why) => {
    expect(attach).toThrow(why)
  })

  it('leaves what the SDK refuses for the SDK to refuse', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { generateText } = observeAISDK(ai, { dispatcher })
    const refused = (generate: typeof ai.generateText) =>
      generate({ model: says([text('hi')]) } as never).then(
        () => 'not refused',
        (error: Error) => error.message,
      )
    expect(await refused(generateText)).toBe(await refused(ai.generateText))
    await dispatcher.drain()
    expect(find(events, 'onComplete')).toMatchObject({ reason: 'error' })
  })
})
