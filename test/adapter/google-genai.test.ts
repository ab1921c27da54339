import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { type CallableTool, GoogleGenAI, mcpToTool, Type } from '@google/genai'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { HookDispatcher } from 'hookspan'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { GOOGLE_GENAI_CAPABILITIES, observeGoogleGenAI, unobserveGoogleGenAI } from 'hookspan/google-genai'
import { human, mock, mockTools, type ScriptedStep, scriptedApprovals, scriptedFetch } from 'hookspan/mock'
import { redact, requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { activityTree } from '../support/activity-tree.ts'
import { all, seen, settled } from '../support/seen-by-caller.ts'
import { traced } from '../support/span-tree.ts'
import { clientOf, observed } from './google-client.ts'
import { callable } from './subjects/google-genai.ts'

afterEach(() => void vi.restoreAllMocks())

const model = 'gemini-3.8-flash'
const usage = { inputTokens: 12, outputTokens: 3 }
const SEARCH: ScriptedStep = { toolCalls: [{ id: 'c1', name: 'search', arguments: { q: 'bags' } }], usage }
const DONE: ScriptedStep = { content: 'Three bags, all of them blue.', usage }

const search = (run: (args: { q: string }) => unknown = () => 'found 3', name = 'search') =>
  callable(name, name, { type: 'object' }, async (args) => run(args as { q: string }) as string)
/** Answers to whatever it is called for. */
const answersAll: CallableTool = {
  tool: async () => ({ functionDeclarations: [{ name: 'other' }] }),
  callTool: async (calls) =>
    calls.map(({ id = '', name = '' }) => ({
      functionResponse: { id, name, response: { error: `there is no ${name}` } },
    })),
}
const asking = (...tools: CallableTool[]) => ({ model, contents: 'bags?', config: { tools } })

const trees = async (dispatcher: HookDispatcher, tree: ReturnType<typeof activityTree>) => {
  await settled(dispatcher)
  return tree.lines()
}
const CHAT = `generate_content ${model}`
const RUN = [
  'invoke_agent shop',
  '  step 0',
  `    ${CHAT}`,
  '    execute_tool search',
  '  step 1',
  `    ${CHAT}`,
]

type Use = readonly [name: string, steps: readonly ScriptedStep[], use: (ai: GoogleGenAI) => Promise<unknown>]

const USES: readonly Use[] = [
  [
    'generateContent',
    [{ ...SEARCH, content: 'Let me look.', reasoning: 'hm' }],
    async (ai) => {
      const response = await ai.models.generateContent({ model, contents: 'hi', config: { temperature: 0 } })
      return [response, response.text, response.functionCalls]
    },
  ],
  [
    'generateContentStream',
    [{ ...SEARCH, content: 'Let me look at them.' }],
    async (ai) => all(await ai.models.generateContentStream({ model, contents: 'hi' })),
  ],
  [
    'a stream that is left, one that is returned, and one that is never read',
    [DONE, DONE, DONE],
    async (ai) => {
      const ask = () => ai.models.generateContentStream({ model, contents: 'hi' })
      const events = []
      for await (const chunk of await ask()) {
        events.push(chunk)
        break
      }
      const stream = await ask()
      events.push(await stream.next(), await stream.return(undefined), await stream.next())
      const unread = await ask()
      await unread.return(undefined)
      return events
    },
  ],
  [
    'a stream that breaks',
    [{ ...DONE, cutAfterChunks: 1 }],
    async (ai) => all(await ai.models.generateContentStream({ model, contents: 'hi' })),
  ],
  [
    'an error',
    [{ error: { status: 400, message: 'no' } }],
    (ai) => ai.models.generateContent({ model, contents: 'hi' }),
  ],
  [
    'an error of a stream',
    [{ error: { status: 400, message: 'no' } }],
    async (ai) => all(await ai.models.generateContentStream({ model, contents: 'hi' })),
  ],
  [
    'an abort before it begins',
    [DONE],
    (ai) =>
      ai.models.generateContent({
        model,
        contents: 'hi',
        config: { abortSignal: AbortSignal.abort(new Error('enough')) },
      }),
  ],
  [
    'an abort while it waits',
    [{ ...DONE, latencyMs: 10_000 }],
    (ai) =>
      ai.models.generateContent({ model, contents: 'hi', config: { abortSignal: AbortSignal.timeout(30) } }),
  ],
  [
    'a chat',
    [DONE, SEARCH, DONE, DONE],
    async (ai) => {
      const chat = ai.chats.create({ model, config: { tools: [search()] } })
      const first = await chat.sendMessage({ message: 'hi' })
      const second = await chat.sendMessage({ message: 'bags?' })
      const chunks = await all(await chat.sendMessageStream({ message: 'thanks' }))
      return [first, second, chunks, chat.getHistory()]
    },
  ],
  [
    'automatic function calling',
    [SEARCH, DONE],
    async (ai) => {
      const response = await ai.models.generateContent(asking(search()))
      return [response, response.text]
    },
  ],
  [
    'automatic function calling, streamed, and what it does to its parameters',
    [SEARCH, DONE],
    async (ai) => {
      const params = asking(search())
      return [await all(await ai.models.generateContentStream(params)), params.contents]
    },
  ],
  [
    'automatic function calling that may not go on',
    [SEARCH],
    async (ai) => {
      const { config, ...params } = asking(search())
      const once = { ...config, automaticFunctionCalling: { maximumRemoteCalls: 1 } }
      return ai.models.generateContent({ ...params, config: once })
    },
  ],
  [
    'a tool that says that it failed',
    [SEARCH, DONE],
    (ai) => ai.models.generateContent(asking(search(() => Promise.reject(new Error('bad q'))))),
  ],
  [
    'a tool that throws',
    [SEARCH],
    (ai) => {
      const callTool = () => Promise.reject(new TypeError('bad q'))
      return ai.models.generateContent(asking({ ...search(), callTool }))
    },
  ],
  [
    'several tools, one of which is not asked',
    [
      {
        toolCalls: ['search', 'count', 'search'].map((name, i) => ({
          id: `c${i}`,
          name,
          arguments: { q: `${i}` },
        })),
      },
      DONE,
    ],
    (ai) =>
      ai.models.generateContent(
        asking(...['search', 'count', 'unused'].map((name) => search(({ q }) => `${name} ${q}`, name))),
      ),
  ],
  [
    'a name that the model made up',
    [{ toolCalls: [{ id: 'c1', name: 'made_up', arguments: {} }] }, DONE],
    (ai) => ai.models.generateContent(asking(search(), answersAll)),
  ],
  [
    'a tool that is aborted',
    [SEARCH, DONE],
    (ai) => {
      const controller = new AbortController()
      const tool = search(() => {
        controller.abort()
        return 'found'
      })
      const { config, ...params } = asking(tool)
      return ai.models.generateContent({ ...params, config: { ...config, abortSignal: controller.signal } })
    },
  ],
  [
    'a run that is aborted before it begins, for a reason of its own',
    [SEARCH],
    (ai) => {
      const { config, ...params } = asking(search())
      const abortSignal = AbortSignal.abort(new Error('enough'))
      return ai.models.generateContent({ ...params, config: { ...config, abortSignal } })
    },
  ],
  [
    'a run that is aborted while the model is asked, for a reason of its own',
    [{ ...SEARCH, latencyMs: 10_000 }],
    (ai) => {
      const { config, ...params } = asking(search())
      const controller = new AbortController()
      setImmediate(() => controller.abort(new Error('enough')))
      return ai.models.generateContent({ ...params, config: { ...config, abortSignal: controller.signal } })
    },
  ],
  [
    'functions that the SDK does not call',
    [SEARCH],
    (ai) =>
      ai.models.generateContent({
        model,
        contents: 'bags?',
        config: { tools: [{ functionDeclarations: [{ name: 'search' }] }] },
      }),
  ],
  [
    'tools that do not go together',
    [],
    (ai) =>
      ai.models.generateContent({
        model,
        contents: 'bags?',
        config: { tools: [search(), { functionDeclarations: [{ name: 'other' }] }] },
      }),
  ],
]

describe('an observed client of @google/genai is as it is bare', () => {
  it.each(USES)('%s', async (_name, steps, use) => {
    const bare = clientOf(...steps)
    const { ai, fetch, dispatcher, tree } = observed(...steps)
    const expected = await seen(use, bare.ai)
    expect(await seen(use, ai)).toEqual(expected)
    const threw = (expected as { threw?: string } | null)?.threw !== undefined
    expect(threw).toBe(/error|abort|breaks|throws|go together/.test(_name))
    await settled(dispatcher)

    const sent = ({ requests }: typeof fetch) => requests.map(({ body, path }) => [path, body])
    expect(sent(fetch)).toEqual(sent(bare.fetch))
    expect(tree.all.filter(({ ends }) => ends.length !== 1)).toEqual([])
  })
})

describe('an observed client of @google/genai', () => {
  it('has single questions as model calls, of the operation that is running or of their own', async () => {
    const { ai, dispatcher, tree } = observed(DONE, DONE, DONE)
    await ai.models.generateContent({ model, contents: 'hi' })
    await all(await ai.models.generateContentStream({ model, contents: 'hi' }))
    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(() => ai.chats.create({ model }).sendMessage({ message: 'hi' }))
    await op.complete()
    expect(await trees(dispatcher, tree)).toEqual([
      ...[1, 2].flatMap(() => ['invoke_agent shop', `  ${CHAT}`]),
      'invoke_agent mine',
      '  step 0',
      `    ${CHAT}`,
    ])
    const { activity } = tree.all.find(({ activity: { kind } }) => kind === 'llm') as (typeof tree.all)[0]
    expect(activity).toMatchObject({
      provider: 'gcp.gemini',
      serverAddress: 'generativelanguage.googleapis.com',
    })
  })

  it.each(['generateContent', 'generateContentStream'] as const)(
    'has automatic function calling as a run whose turns are steps: %s',
    async (method) => {
      const { ai, dispatcher, tree } = observed(SEARCH, DONE)
      const told: object[] = []
      dispatcher.use({
        name: 'told',
        hooks: [
          { id: 'call', type: 'afterLlmCall', handler: (e) => void told.push({ used: e.usage }) },
          {
            id: 'end',
            type: 'onComplete',
            handler: ({ reason, content }) => void told.push({ reason, content }),
          },
        ],
      })
      const reply = await ai.models[method](asking(search()))
      if (method === 'generateContentStream') await all(reply as AsyncGenerator)
      expect(await trees(dispatcher, tree)).toEqual(RUN)
      expect(told).toEqual([{ used: usage }, { used: usage }, { reason: 'done', content: DONE.content }])
    },
  )

  it('leaves the calls to their caller where the SDK does, as those of a single question', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { ai, dispatcher, tree } = observed(SEARCH)
    const reasons: unknown[] = []
    const handler = ({ reason }: { readonly reason: string }) => void reasons.push(reason)
    dispatcher.use({ name: 'told', hooks: [{ id: 'end', type: 'onComplete', handler }] })
    const { config, ...params } = asking(search())
    const none = { ...config, automaticFunctionCalling: { maximumRemoteCalls: 0 } }
    await ai.models.generateContent({ ...params, config: none })
    expect(await trees(dispatcher, tree)).toEqual(['invoke_agent shop', `  ${CHAT}`])
    expect(reasons).toEqual(['done'])
  })

  it('has the model calls of its tools below them, and a run in a tool as its sub-agent', async () => {
    const { ai, dispatcher, tree } = observed(SEARCH, DONE, SEARCH, DONE, DONE)
    const tool = search(async () => {
      await ai.models.generateContent({ model, contents: 'hi' })
      return (await ai.models.generateContent(asking(search()))).text
    })
    await ai.models.generateContent(asking(tool))
    expect(await trees(dispatcher, tree)).toEqual([
      ...RUN.slice(0, 4),
      `      ${CHAT}`,
      '      agent',
      '        invoke_agent search',
      ...RUN.slice(1).map((line) => `        ${line}`),
      ...RUN.slice(4),
    ])
  })

  it('takes mocks, policies and humans as they are', async () => {
    const names = ['search', 'drop_table', 'delete_order']
    const toolCalls = names.map((name, i) => ({ id: `c${i}`, name, arguments: { q: 'x' } }))
    const { ai, dispatcher, fetch } = observed({ toolCalls }, DONE)
    const live = vi.fn(() => 'live')
    using mocks = mockTools(dispatcher, [mock('search').returns({ bags: 3 })], { onUnmocked: 'passthrough' })
    using humans = scriptedApprovals(dispatcher, [human('delete_order').rejects('not today')])
    const gates = [toolPolicy({ deny: ['drop_*'] }), requireHuman({ match: 'delete_*' })]
    dispatcher.use({ name: 'careful', gates })
    await ai.models.generateContent(asking(...names.map((name) => search(live, name))))
    mocks.assertUsed()
    humans.assertUsed()
    expect(live).not.toHaveBeenCalled()
    expect(fetch.requests[1]?.messages.at(-1)).toEqual({
      role: 'user',
      parts: [
        { bags: 3 },
        { error: expect.stringContaining('"denied":true,"code":"tool_not_allowed"') },
        { error: expect.stringContaining('not today') },
      ].map((response, i) => ({ functionResponse: { id: `c${i}`, name: names[i], response } })),
    })
  })

  /** A tool that answers `response`, as it is. */
  const answering = (response: Record<string, unknown>): CallableTool => ({
    tool: async () => ({ functionDeclarations: [{ name: 'search' }] }),
    callTool: async () => [{ functionResponse: { id: 'c1', name: 'search', response } }],
  })
  const toldAs = (response: unknown) => ({
    role: 'user',
    parts: [{ functionResponse: { id: 'c1', name: 'search', response } }],
  })

  it.each([
    ['no error', { error: null, rows: ['mail a@b.io'] }],
    ['an error and more', { error: 'half of it', rows: ['mail a@b.io'] }],
    ['an error that is no text', { error: { code: 7, mail: 'a@b.io' } }],
  ])(
    'asks the gates about an answer with %s, which is the same where they let it be',
    async (_, response) => {
      const success = response.error === null
      const ended: unknown[] = []
      const ask = async (...gates: Gate[]) => {
        const { ai, dispatcher, fetch } = observed(SEARCH, DONE)
        dispatcher.use({
          name: 'careful',
          gates,
          hooks: [{ id: 'ended', type: 'afterToolCall', handler: (event) => void ended.push(event.success) }],
        })
        await ai.models.generateContent(asking(answering(response)))
        return fetch.requests[1]?.messages.at(-1)
      }
      expect(await ask()).toEqual(toldAs(response))
      expect(await ask({ id: 'let', point: 'afterToolCall', decide: () => undefined })).toEqual(
        toldAs(response),
      )
      expect(ended).toEqual([success, success])
      const hide = { id: 'hide', point: 'afterToolCall', decide: () => deny('hidden') } as const
      expect(await ask(hide)).toEqual(toldAs({ error: expect.stringContaining('hidden') }))
      expect(await ask(redact({ kinds: ['email'], in: ['toolResult'] }))).toEqual(
        toldAs(JSON.parse(JSON.stringify(response).replace('a@b.io', '[email]'))),
      )
    },
  )

  it('has a call of a name that the model made up as one tool call, which gates decide on', async () => {
    const { ai, dispatcher, fetch } = observed(
      { toolCalls: [{ id: 'c1', name: 'made_up', arguments: {} }] },
      DONE,
    )
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ allow: ['search', 'other'] })] })
    const callTool = vi.fn(answersAll.callTool)
    await ai.models.generateContent(asking({ ...answersAll, callTool }, search()))
    expect(callTool).not.toHaveBeenCalled()
    const parts = [expect.objectContaining({ functionResponse: expect.objectContaining({ id: 'c1' }) })]
    expect(fetch.requests[1]?.messages.at(-1)).toEqual({ role: 'user', parts })
  })

  it('holds mocked calls to schemas in the words of Google, too', async () => {
    const q = (value: unknown) => ({ toolCalls: [{ name: 'search', arguments: { q: value } }] })
    const { ai, dispatcher } = observed(q('bags'), q(3), DONE)
    using mocks = mockTools(dispatcher, [mock('search').returns({ bags: 3 })])
    const parameters = { type: Type.OBJECT, properties: { q: { type: Type.STRING } }, required: ['q'] }
    const tool: CallableTool = {
      tool: async () => ({ functionDeclarations: [{ name: 'search', parameters }] }),
      callTool: () => Promise.reject(new Error('the real tool ran')),
    }
    await ai.models.generateContent({ model: 'gemini', contents: 'bags?', config: { tools: [tool] } })
    expect(mocks.calls().map(({ answeredBy }) => answeredBy)).toEqual(['mock', 'refused'])
    expect(() => mocks.assertUsed()).toThrow('args.q: expected string, got `3` (number)')
  })

  it.each(['generateContent', 'generateContentStream'] as const)(
    'lets gates change the request, and answer for the model, before and after it has: %s',
    async (method) => {
      const { ai, dispatcher, fetch } = observed(DONE)
      const text = async () => {
        const reply = await ai.models[method]({
          model,
          contents: 'hi',
          config: { temperature: 1, httpOptions: { headers: { 'x-secret': 'k' } } },
        })
        if (!(Symbol.asyncIterator in reply)) return reply.text
        let whole = ''
        for await (const chunk of reply) whole += chunk.text ?? ''
        return whole
      }
      let shown: unknown
      const undo = dispatcher.use({
        name: 'around',
        gates: [
          {
            id: 'before',
            point: 'beforeLlmCall',
            decide: ({ payload }) => {
              shown = payload
              return mutate({ contents: 'hello', config: { temperature: 0 } })
            },
          },
          { id: 'after', point: 'afterLlmCall', decide: () => mutate({ content: 'rewritten' }) },
        ],
      })
      expect(await text()).toBe('rewritten')
      expect(JSON.stringify(shown)).not.toContain('secret')
      expect(fetch.requests[0]).toMatchObject({
        headers: { 'x-secret': 'k' },
        body: { contents: [{ parts: [{ text: 'hello' }] }], generationConfig: { temperature: 0 } },
      })
      undo[Symbol.dispose]()
      const before = { id: 'before', point: 'beforeLlmCall', decide: () => skip('from the gate') } as const
      dispatcher.use({ name: 'before', gates: [before] })
      expect(await text()).toBe('from the gate')
      expect(fetch.requests).toHaveLength(1)
    },
  )

  it.each<[object, string]>([
    [
      { temperature: 0 },
      "`temperature`, which Google's client does not ask a model. Set `config: { ...config, temp",
    ],
    [{ max_tokens: 5 }, 'Set `config: { ...config, maxOutputTokens }`'],
    [{ messages: [] }, 'Say `contents`'],
    [{ model: 'cheaper' }, 'chosen by who makes the call'],
    [{ config: { max_tokens: 5 } }, 'In `config` say `maxOutputTokens`'],
    [{ config: { top_p: 0 } }, 'In `config` say `topP`'],
    [{ config: { httpOptions: {} } }, 'set by who makes the call'],
  ])('asks nobody where a gate sets what would not be sent: %j', async (set, mend) => {
    const { ai, dispatcher, fetch } = observed(DONE)
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(set) }] })
    for (const method of ['generateContent', 'generateContentStream'] as const) {
      await expect(ai.models[method]({ model, contents: 'hi' })).rejects.toThrow(mend)
    }
    expect(fetch.requests).toEqual([])
  })

  it('ends where a gate stops it, and refuses a gate that it cannot hold', async () => {
    const { ai, dispatcher, fetch } = observed(SEARCH)
    const stop = {
      id: 'stop',
      point: 'beforeToolCall',
      decide: () => deny('enough', { stop: true }),
    } as const
    const undo = dispatcher.use({ name: 'stop', gates: [stop] })
    await expect(ai.models.generateContent(asking(search()))).rejects.toMatchObject({ code: 'RUN_DENIED' })
    expect(fetch.requests).toHaveLength(1)
    undo[Symbol.dispose]()
    expect(GOOGLE_GENAI_CAPABILITIES).toMatchObject({ park: false, compaction: false })
    const gate = { id: 'whole', point: 'beforeCompact', decide: () => deny('no') } as const
    dispatcher.use({ name: 'whole', gates: [gate] })
    await expect(ai.models.generateContent(asking(search()))).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    expect(fetch.requests).toHaveLength(1)
  })

  it('calls the tools of MCP servers, whose mocks look like theirs', async () => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    server.registerTool('search', { inputSchema: { q: z.string() } }, ({ q }) => ({
      content: [{ type: 'text', text: `found ${q}` }],
    }))
    const [left, right] = InMemoryTransport.createLinkedPair()
    const mcp = new Client({ name: 'test', version: '1.0.0' })
    await Promise.all([server.connect(left), mcp.connect(right)])
    const { ai, dispatcher, tree, fetch } = observed(SEARCH, DONE)
    const change = { id: 'change', point: 'beforeToolCall', decide: () => mutate({ q: 'purses' }) } as const
    dispatcher.use({ name: 'change', gates: [change] })
    await ai.models.generateContent(asking(mcpToTool(mcp as never)))
    expect(await trees(dispatcher, tree)).toEqual(RUN)
    expect(fetch.requests[1]?.messages.at(-1)).toMatchObject({
      parts: [{ functionResponse: { response: { content: [{ text: 'found purses' }] } } }],
    })
    await mcp.close()
  })

  it("keeps the user's storage and trace in its tools", async () => {
    using setup = traced()
    const { ai } = clientOf(SEARCH, DONE)
    observeGoogleGenAI(ai, { dispatcher: setup.dispatcher, agentName: 'shop' })
    const storage = new AsyncLocalStorage<string>()
    const tool = search(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      setup.tracer.startSpan('SELECT bags').end()
      return storage.getStore()
    })
    const { automaticFunctionCallingHistory: history } = await storage.run('mine', () =>
      ai.models.generateContent(asking(tool)),
    )
    expect(history?.at(-1)?.parts).toMatchObject([{ functionResponse: { response: { output: 'mine' } } }])
    expect(setup.tree().split('\n')).toEqual([...RUN.slice(0, 4), '      SELECT bags', ...RUN.slice(4)])
  })

  it('is observed once, and is left as it was', async () => {
    const { ai, dispatcher, tree } = observed(SEARCH, DONE, SEARCH, DONE)
    const { ai: bare } = clientOf()
    expect(observeGoogleGenAI(ai, { dispatcher, agentName: 'shop' })).toBe(ai)
    await ai.models.generateContent(asking(search()))
    expect(unobserveGoogleGenAI(ai)).toBe(ai)
    expect(Reflect.ownKeys(ai.models)).toEqual(Reflect.ownKeys(bare.models))
    expect(Object.keys(ai.models)).toEqual(Object.keys(bare.models))
    await ai.models.generateContent(asking(search()))
    expect(await trees(dispatcher, tree)).toEqual(RUN)
    observeGoogleGenAI(ai, { dispatcher: new HookDispatcher() })
    expect(() => observeGoogleGenAI(ai, { dispatcher })).toThrow(/another dispatcher/)
  })

  it('works with several copies of the SDK in one process', async () => {
    const { GoogleGenAI: Copy } = createRequire(import.meta.url)('@google/genai') as {
      GoogleGenAI: typeof GoogleGenAI
    }
    expect(Copy).not.toBe(GoogleGenAI)
    const { ai, dispatcher, tree } = observed(SEARCH, DONE)
    const fetch = scriptedFetch({ steps: [SEARCH, DONE] })
    const other = new Copy({ apiKey: 'k', httpOptions: { fetch } as never })
    observeGoogleGenAI(other, { dispatcher, agentName: 'shop' })
    await Promise.all([ai, other].map((one) => one.models.generateContent(asking(search()))))
    expect(await trees(dispatcher, tree)).toEqual([...RUN, ...RUN])
  })

  it('is refused where it is no client, and with options that there are not', () => {
    const dispatcher = new HookDispatcher()
    const attach = observeGoogleGenAI as (client: unknown, options: unknown) => unknown
    expect(() => attach(undefined, { dispatcher })).toThrow(/observeGoogleGenAI.*@google\/genai/)
    expect(() => attach(clientOf().ai, {})).toThrow(/observeGoogleGenAI needs a `dispatcher`/)
    expect(() => attach(clientOf().ai, { dispatcher, agent: 'x' })).toThrow(/agent.*agentName/s)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const strange = { models: { generateContent() {} } }
    expect(attach(strange, { dispatcher })).toBe(strange)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('cannot observe this client (@google/genai'))
  })
})
