import { AsyncLocalStorage } from 'node:async_hooks'
import { SimpleChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import { type Approvals, createApprovals, memoryStore } from 'hookspan/approval'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { hookspanCallbacks, hookspanMiddleware, LANGGRAPH_CAPABILITIES, runWith } from 'hookspan/langchain'
import { mock, mockTools } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  modelRetryMiddleware,
  summarizationMiddleware,
  tool,
} from 'langchain'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, find, findAll, gate, typesOf } from '../support/told-events.ts'
import { bareGraph } from './langchain-graph.ts'

const hi = () => ({ messages: [new HumanMessage('go')] })
const calls = (...names: string[]) =>
  names.map((name, index) => ({ name, args: { q: 'a' }, id: `call_${index}` }))

function searchTool(body: (q: string) => unknown = (q) => `found ${q}`, name = 'search') {
  const execute = vi.fn(({ q }: { q: string }) => body(q) as string)
  return {
    execute,
    search: tool(execute, { name, description: 'Searches.', schema: z.object({ q: z.string() }) }),
  }
}

/** One of the processes that a conversation goes through: a human is asked about the search. */
function askingProcess({
  approvals,
  checkpointer,
  tools,
}: {
  approvals: Approvals
  checkpointer: MemorySaver
  tools: NonNullable<Parameters<typeof createAgent>[0]['tools']>
}) {
  const { dispatcher, events } = dispatcherWith(requireHuman({ match: 'search' }))
  dispatcher.use(approvals)
  const model = fakeModel()
  const middleware = [hookspanMiddleware({ dispatcher })]
  return { model, events, dispatcher, agent: createAgent({ model, tools, middleware, checkpointer }) }
}

/** What the agent's messages say, without ids. */
const saidIn = ({ messages }: { messages: object[] }) =>
  messages.map((message) => {
    const { content, name, status } = message as { content: unknown; name?: string; status?: string }
    return { content, name, status }
  })

describe('with hookspan and without', () => {
  it('an agent says the same, also of tools that fail and of arguments that are wrong', async () => {
    const run = (middleware: never[]) => {
      const { search } = searchTool()
      const { search: failing } = searchTool(() => {
        throw new Error('broken')
      }, 'failing')
      const model = fakeModel()
        .respondWithTools([...calls('search', 'failing'), { name: 'search', args: { q: 7 }, id: 'wrong' }])
        .respondWithTools([{ name: 'unknown', args: {}, id: 'unknown' }])
        .respond(new AIMessage('done'))
      return createAgent({ model, tools: [search, failing], middleware }).invoke(hi())
    }
    const { dispatcher, events } = dispatcherWith()
    const withoutStack = (said: object[]) =>
      JSON.stringify(said).replace(/\\n {4}at .*?(?=\\n [^ ]|\\n P)/g, '')
    const bare = await run([])
    expect(withoutStack(saidIn(await run([hookspanMiddleware({ dispatcher })] as never[])))).toBe(
      withoutStack(saidIn(bare)),
    )
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'onToolCallError')).toHaveLength(3)
    expect(find(events, 'onComplete')).toMatchObject({ reason: 'done', content: 'done' })
  })

  it('a run needs two more of its recursionLimit', async () => {
    const run = (middleware: never[], recursionLimit: number) => {
      const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
      const agent = createAgent({ model, tools: [searchTool().search], middleware })
      return agent.invoke(hi(), { recursionLimit }).then(
        ({ messages }) => messages.at(-1)?.text,
        ({ name }) => name,
      )
    }
    const ours = [hookspanMiddleware({ dispatcher: new HookDispatcher() })] as never[]
    const limits = [3, 4, 5, 6]
    const bare = await Promise.all(limits.map((limit) => run([], limit)))
    const observed = await Promise.all(limits.map((limit) => run(ours, limit + 2)))
    expect(bare).toContain('GraphRecursionError')
    expect(bare).toContain('done')
    expect(observed).toEqual(bare)
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
    const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
    const middleware = [hookspanMiddleware({ dispatcher })] as const
    const result = await createAgent({ model, tools: [searchTool().search], middleware }).invoke(hi())
    expect(result.messages.at(-1)?.text).toBe('done')
  })

  it("a model's error ends the run as it did, and a retry around it is a try of its own", async () => {
    const { dispatcher, events } = dispatcherWith()
    const failing = () => fakeModel().respond(new Error('overloaded')).respond(new AIMessage('done'))
    const ours = hookspanMiddleware({ dispatcher })
    const run = createAgent({ model: failing(), tools: [], middleware: [ours] }).invoke(hi())
    await expect(run).rejects.toThrow('overloaded')
    await dispatcher.drain()
    expect(find(events, 'onComplete')).toMatchObject({
      reason: 'error',
      errorMessage: expect.stringContaining('overloaded'),
    })
    events.length = 0
    const retry = modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false })
    const agent = createAgent({ model: failing(), tools: [], middleware: [ours, retry] })
    expect((await agent.invoke(hi())).messages.at(-1)?.text).toBe('done')
    await dispatcher.drain()
    expect(find(events, 'onComplete')).toMatchObject({ reason: 'done' })
  })

  it("the user's context holds into the tool", async () => {
    const mine = new AsyncLocalStorage<string>()
    const { dispatcher } = dispatcherWith(gate('beforeToolCall', async () => {}))
    const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
    let seen: string | undefined
    const { search } = searchTool(() => {
      seen = mine.getStore()
      return 'ok'
    })
    const agent = createAgent({ model, tools: [search], middleware: [hookspanMiddleware({ dispatcher })] })
    await mine.run('here', () => agent.invoke(hi()))
    expect(seen).toBe('here')
  })
})

describe('one mock, one gate, one approval', () => {
  it('mocks and policies hold', async () => {
    const { dispatcher } = dispatcherWith(toolPolicy({ deny: ['refund'] }))
    const { search, execute } = searchTool()
    const { search: refund, execute: refunded } = searchTool(undefined, 'refund')
    using _ = mockTools(dispatcher, [mock('search').returns({ hits: 3 })])
    const model = fakeModel().respondWithTools(calls('search', 'refund')).respond(new AIMessage('done'))
    const agent = createAgent({
      model,
      tools: [search, refund],
      middleware: [hookspanMiddleware({ dispatcher })],
    })
    const said = saidIn(await agent.invoke(hi()))
    expect([execute.mock.calls.length, refunded.mock.calls.length]).toEqual([0, 0])
    expect(said.slice(2, 4)).toMatchObject([
      { content: '{"hits":3}', name: 'search', status: 'success' },
      { content: expect.stringContaining('"denied":true'), name: 'refund', status: 'error' },
    ])
  })

  it('a model call tells the arguments that a tool takes, whatever they were written with', async () => {
    const { dispatcher, events } = dispatcherWith()
    const schema = {
      type: 'object' as const,
      properties: { q: { type: 'string' as const } },
      required: ['q'],
    }
    const plain = tool(() => '', { name: 'plain', description: 'Plain.', schema })
    const odd = tool(() => '', { name: 'odd', description: 'Odd.', schema: z.object({ at: z.date() }) })
    const model = fakeModel().respond(new AIMessage('done'))
    const middleware = [hookspanMiddleware({ dispatcher })]
    await createAgent({ model, tools: [searchTool().search, plain, odd], middleware }).invoke(hi())
    expect(find(events, 'beforeLlmCall')?.request.tools).toMatchObject([
      { function: { name: 'search', parameters: { type: 'object', properties: { q: { type: 'string' } } } } },
      { function: { name: 'plain', parameters: schema } },
      { function: { name: 'odd' } },
    ])
  })

  it('gates change and answer model calls', async () => {
    const say = async (
      decide: Gate['decide'],
      point: Gate['point'],
      model = fakeModel().respond(new AIMessage('hi')),
    ) => {
      const { dispatcher } = dispatcherWith(gate(point, decide))
      const agent = createAgent({ model, tools: [], middleware: [hookspanMiddleware({ dispatcher })] })
      return (await agent.invoke(hi())).messages.at(-1)?.text
    }
    const asked = fakeModel().respond(new AIMessage('hi'))
    const other = [{ role: 'user', content: 'something else' }]
    expect(await say(() => mutate({ messages: other }), 'beforeLlmCall', asked)).toBe('hi')
    expect(asked.calls[0]?.messages.map(({ text }) => text)).toEqual(['something else'])
    expect(await say(() => skip('instead'), 'beforeLlmCall', fakeModel())).toBe('instead')
    expect(await say(() => deny('not now'), 'beforeLlmCall', fakeModel())).toBe('not now')
    expect(await say(() => mutate({ content: 'rewritten' }), 'afterLlmCall')).toBe('rewritten')
    const changed = fakeModel().respond(new AIMessage('hi'))
    await say(() => mutate('another question'), 'onStart', changed)
    expect(changed.calls[0]?.messages.map(({ text }) => text)).toEqual(['another question'])
    await expect(say(() => deny('closed'), 'onStart')).rejects.toThrow(/closed/)
  })

  it('a gate takes tools from what a model is offered, and no model is asked where it changes one', async () => {
    const offered = async (change: (tools: { function: { name: string } }[]) => object[]) => {
      const { dispatcher } = dispatcherWith(
        gate('beforeLlmCall', ({ payload }) => {
          const { tools, ...request } = payload as { tools: { function: { name: string } }[] }
          return mutate({ ...request, tools: change(tools) })
        }),
      )
      const offered: unknown[] = []
      const look = createMiddleware({
        name: 'look',
        wrapModelCall: (request, handler) => {
          offered.push(...request.tools.map(({ name }) => name))
          return handler(request)
        },
      })
      const { search } = searchTool()
      const other = tool(() => 'other', { name: 'other', description: 'Another.', schema: z.object({}) })
      const model = fakeModel().respond(new AIMessage('hi'))
      const middleware = [hookspanMiddleware({ dispatcher }) as AgentMiddleware, look]
      const agent = createAgent({ model, tools: [search, other], middleware })
      const asked = agent.invoke(hi()).then(({ messages }) => messages.at(-1)?.text)
      return { said: await asked.catch((error: Error) => error.message), offered }
    }
    expect(await offered((tools) => tools)).toEqual({ said: 'hi', offered: ['search', 'other'] })
    const without = (tools: { function: { name: string } }[]) =>
      tools.filter(({ function: { name } }) => name !== 'search')
    expect(await offered(without)).toEqual({ said: 'hi', offered: ['other'] })
    expect(await offered(() => [])).toEqual({ said: 'hi', offered: [] })
    const renamed = await offered(() => [{ type: 'function', function: { name: 'made_up' } }])
    expect(renamed).toEqual({
      said: expect.stringContaining('changed or added the tool "made_up"'),
      offered: [],
    })
  })

  it('no model is asked where a gate sets what it takes where it is made alone, as `temperature`', async () => {
    // As `ChatOpenAI`: of what a call says it sends some, and no other.
    class Made extends SimpleChatModel {
      asked = 0
      temperature = 0.9
      _llmType() {
        return 'made'
      }
      override bindTools() {
        return this
      }
      override invocationParams(options: { seed?: number } & object = {}) {
        return { model: 'made', temperature: this.temperature, seed: options.seed }
      }
      async _call() {
        this.asked++
        return 'hi'
      }
    }
    const ask = async (settings: object, model: Made | ReturnType<typeof fakeModel> = new Made({})) => {
      const { dispatcher } = dispatcherWith(gate('beforeLlmCall', () => mutate(settings)))
      const agent = createAgent({ model, tools: [], middleware: [hookspanMiddleware({ dispatcher })] })
      const said = agent.invoke(hi()).then(({ messages }) => messages.at(-1)?.text)
      return [await said.catch(({ message }: Error) => message), 'asked' in model && model.asked]
    }
    const refused = /set `temperature`, `max_tokens`, which this model of LangChain takes where it is made/
    expect(await ask({ temperature: 0.1, max_tokens: 5, seed: 7 })).toEqual([
      expect.stringMatching(refused),
      0,
    ])
    expect(await ask({ temperature: 0.9, seed: 7 })).toEqual(['hi', 1])
    // One that does not say what it sends.
    expect(await ask({ temperature: 0.1 }, fakeModel().respond(new AIMessage('hi')))).toEqual(['hi', false])
  })

  it('a gate for a tool that the provider runs is refused', async () => {
    const { dispatcher } = dispatcherWith(toolPolicy({ deny: ['web_search'] }))
    const model = fakeModel().respond(new AIMessage('hi'))
    const agent = createAgent({
      model,
      tools: [{ type: 'web_search', name: 'web_search' }] as never,
      middleware: [hookspanMiddleware({ dispatcher })],
    })
    await expect(agent.invoke(hi())).rejects.toThrow(/web_search/)
    expect(model.callCount).toBe(0)
  })
})

describe('interrupts', () => {
  it('a call that waits does not hold the one beside it, and both run once', async () => {
    const { dispatcher, events } = dispatcherWith(requireHuman({ match: 'refund' }))
    const answers: string[] = []
    dispatcher.use({
      name: 'human',
      approver: {
        requestApproval: async () =>
          answers.shift() === 'yes' ? { decision: 'approve', approver: 'ines' } : { decision: 'park' },
      },
    })
    const { search, execute } = searchTool()
    const { search: refund, execute: refunded } = searchTool(undefined, 'refund')
    const model = fakeModel().respondWithTools(calls('search', 'refund')).respond(new AIMessage('done'))
    const agent = createAgent({
      model,
      tools: [search, refund],
      middleware: [hookspanMiddleware({ dispatcher })],
      checkpointer: new MemorySaver(),
    })
    const config = { configurable: { thread_id: 'one' } }
    const first = (await agent.invoke(hi(), config)) as unknown as {
      __interrupt__: { value: { parked: never } }[]
    }
    expect([execute.mock.calls.length, refunded.mock.calls.length]).toEqual([1, 0])
    expect(typesOf(events)).not.toContain('onComplete')
    answers.push('yes')
    const { value } = first.__interrupt__[0] as { value: { parked: never } }
    const second = await runWith({ resume: value.parked }, () =>
      agent.invoke(new Command({ resume: true }), config),
    )
    expect(second.messages.at(-1)?.text).toBe('done')
    expect([execute.mock.calls.length, refunded.mock.calls.length]).toEqual([1, 1])
    await dispatcher.drain()
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index))
    for (const type of [
      'onStart',
      'beforeHumanIntervention',
      'afterHumanIntervention',
      'onComplete',
    ] as const) {
      expect(
        events.filter(({ hookType }) => hookType === type),
        type,
      ).toHaveLength(1)
    }
  })

  it("a tool's own question parks the run, and its answer reaches it", async () => {
    const { dispatcher, events } = dispatcherWith()
    const answered = vi.fn()
    const { search } = searchTool(() => {
      const answer = interrupt('which one?')
      answered(answer)
      return `took ${answer}`
    })
    const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
    const agent = createAgent({
      model,
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher })],
      checkpointer: new MemorySaver(),
    })
    const config = { configurable: { thread_id: 'one' } }
    const first = (await agent.invoke(hi(), config)) as unknown as { __interrupt__: { value: unknown }[] }
    expect(first.__interrupt__[0]?.value).toBe('which one?')
    await dispatcher.drain()
    expect(dispatcher.stats().operations).toBe(0)
    const second = await agent.invoke(new Command({ resume: 'the red one' }), config)
    expect(second.messages.at(-2)?.text).toBe('took the red one')
    expect(answered).toHaveBeenCalledWith('the red one')
    expect(find(events, 'afterToolCall')).toMatchObject({ content: 'took the red one' })
    await dispatcher.drain()
    for (const type of ['onStart', 'beforeToolCall', 'onComplete'] as const) {
      expect(findAll(events, type), type).toHaveLength(1)
    }
  })

  it.each([
    ['a tool asks', () => interrupt('which one?')],
    ['a gate asks', undefined],
  ])(
    'what begins on the thread where %s is another run, and interrupts the one that waits',
    async (_, asks) => {
      const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
      const { dispatcher, events } = dispatcherWith(...(asks ? [] : [requireHuman({ match: 'search' })]))
      dispatcher.use(approvals)
      const { search } = searchTool(asks)
      const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
      const middleware = [hookspanMiddleware({ dispatcher })]
      const agent = createAgent({ model, tools: [search], middleware, checkpointer: new MemorySaver() })
      const config = { configurable: { thread_id: 'one' } }
      const gates = [{ id: 'own', point: 'onStart' as const, decide: () => undefined }]
      await runWith({ gates }, () => agent.invoke(hi(), config))
      await agent.invoke({ messages: [{ role: 'user', content: 'Never mind.' }] }, config)
      await dispatcher.drain()
      const ids = findAll(events, 'onStart').map(({ operationId }) => operationId)
      expect(ids).toHaveLength(2)
      const ended = findAll(events, 'onComplete').map(({ operationId, reason }) => [operationId, reason])
      expect(ended.toSorted()).toEqual(
        [
          [ids[0], 'interrupted'],
          [ids[1], 'done'],
        ].toSorted(),
      )
      expect(await approvals.list({ status: 'pending' })).toEqual([])
    },
  )

  it('a run that went on elsewhere is not ended where it waited, once its thread is here again', async () => {
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    const { search } = searchTool()
    const checkpointer = new MemorySaver()
    const config = { configurable: { thread_id: 'one' } }
    const process = () => askingProcess({ approvals, checkpointer, tools: [search] })
    const here = process()
    here.model.respondWithTools(calls('search')).respond(new AIMessage('again'))
    const { __interrupt__: asked } = (await here.agent.invoke(hi(), config)) as unknown as {
      __interrupt__: { value: unknown }[]
    }
    const [record] = await approvals.list({ status: 'pending' })
    const { id = '', argsDigest = '' } = record?.request ?? {}
    await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
    const elsewhere = process()
    elsewhere.model.respond(new AIMessage('done'))
    await elsewhere.agent.invoke(new Command({ resume: asked[0]?.value }), config)
    await here.agent.invoke({ messages: [{ role: 'user', content: 'And now?' }] }, config)
    await here.dispatcher.drain()
    expect(findAll(here.events, 'onComplete').map(({ reason }) => reason)).toEqual(['done'])
  })

  it("a tool's own questions are answered one after the other, in one run", async () => {
    const { dispatcher, events } = dispatcherWith()
    const { search } = searchTool(() => `${interrupt('which one?')} and ${interrupt('sure?')}`)
    const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
    const middleware = [hookspanMiddleware({ dispatcher })]
    const agent = createAgent({ model, tools: [search], middleware, checkpointer: new MemorySaver() })
    const config = { configurable: { thread_id: 'one' } }
    await agent.invoke(hi(), config)
    await agent.invoke(new Command({ resume: 'red' }), config)
    const { messages } = await agent.invoke(new Command({ resume: 'yes' }), config)
    expect(messages.at(-2)?.text).toBe('red and yes')
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  })

  it('a call that somebody edited while its tool waited for an answer is decided on anew', async () => {
    const { dispatcher } = dispatcherWith({
      id: 'no-b',
      point: 'beforeToolCall',
      decide: ({ payload }) => ((payload as { q: string }).q === 'b' ? deny('Not b.') : undefined),
    })
    const { search } = searchTool(() => `took ${interrupt('which one?')}`)
    const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
    const middleware = [hookspanMiddleware({ dispatcher })]
    const agent = createAgent({ model, tools: [search], middleware, checkpointer: new MemorySaver() })
    const config = { configurable: { thread_id: 'one' } }
    await agent.invoke(hi(), config)
    const { id, tool_calls } = (await agent.graph.getState(config)).values.messages.at(-1)
    const asks = new AIMessage({ id, content: '', tool_calls: [{ ...tool_calls[0], args: { q: 'b' } }] })
    await agent.graph.updateState(config, { messages: [asks] })
    const { messages } = await agent.invoke(new Command({ resume: 'red' }), config)
    expect(messages.find(({ type }) => type === 'tool')?.text).toContain('Not b.')
  })

  it.each([[['own', 'search']], [['search', 'own']]])(
    "a tool's own question and one about a call beside it are both answered in another process: %s",
    async (names) => {
      const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
      const own = tool(() => `own: ${interrupt('which one?')}`, {
        name: 'own',
        description: 'Asks.',
        schema: z.object({}),
      })
      const { search, execute } = searchTool()
      const checkpointer = new MemorySaver()
      const process = () => askingProcess({ approvals, checkpointer, tools: [own, search] })
      const config = { configurable: { thread_id: 'one' } }
      const first = process()
      first.model.respondWithTools(
        names.map((name) => ({ name, args: name === 'search' ? { q: 'a' } : {}, id: name })),
      )
      const { __interrupt__: asked } = (await first.agent.invoke(hi(), config)) as unknown as {
        __interrupt__: { id: string; value: unknown }[]
      }
      for (const { request } of await approvals.list({ status: 'pending' })) {
        await approvals.respond(request.id, {
          decision: 'approve',
          approver: 'ann',
          argsDigest: request.argsDigest,
        })
      }
      const second = process()
      second.model.respond(new AIMessage('done'))
      const resume = Object.fromEntries(asked.map(({ id, value }) => [id, value]))
      const { messages } = await second.agent.invoke(new Command({ resume }), config)
      expect(messages.at(-1)?.text).toBe('done')
      expect(execute).toHaveBeenCalledTimes(1)
      expect(findAll(second.events, 'onStart')).toEqual([])
      expect(await approvals.list({})).toHaveLength(1)
    },
  )
})

it("a human whom LangChain's own middleware asks stops the run, which goes on with the answer", async () => {
  const { dispatcher, events } = dispatcherWith()
  const { search, execute } = searchTool()
  const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
  const agent = createAgent({
    model,
    tools: [search],
    middleware: [
      hookspanMiddleware({ dispatcher }),
      humanInTheLoopMiddleware({ interruptOn: { search: { allowedDecisions: ['approve'] } } }),
    ],
    checkpointer: new MemorySaver(),
  })
  const config = { configurable: { thread_id: 'one' } }
  await agent.invoke(hi(), config)
  expect(execute).not.toHaveBeenCalled()
  const resume = { decisions: [{ type: 'approve' }] }
  expect((await agent.invoke(new Command({ resume }), config)).messages.at(-1)?.text).toBe('done')
  await dispatcher.drain()
  expect(new Set(events.map(({ operationId }) => operationId)).size).toBe(1)
  expect(events.filter(({ hookType }) => hookType === 'onComplete')).toHaveLength(1)
  expect(dispatcher.stats().operations).toBe(0)
})

it('two calls wait on, however often the graph goes on before both are answered, and each is made once', async () => {
  const approvals = createApprovals({ mode: 'park' })
  const { search, execute } = searchTool()
  const model = fakeModel()
    .respondWithTools(['a', 'b'].map((q) => ({ name: 'search', args: { q }, id: q })))
    .respond(new AIMessage('done'))
  const checkpointer = new MemorySaver()
  const config = { configurable: { thread_id: 'one' } }
  const told: string[] = []
  /** In a process of its own. */
  const goOn = async (input: object) => {
    const { dispatcher, events } = dispatcherWith(requireHuman({ match: 'search' }))
    dispatcher.use(approvals)
    const agent = createAgent({
      model,
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher })],
      checkpointer,
    })
    const said = (await agent.invoke(input as never, config)) as {
      messages: { text: string }[]
      __interrupt__?: { id: string; value: unknown }[]
    }
    await dispatcher.drain()
    told.push(...typesOf(events))
    const { __interrupt__: asked = [], messages } = said
    const resume = Object.fromEntries(asked.map(({ id, value }) => [id, value]))
    return { said: messages.at(-1)?.text, waits: asked.length, resume: new Command({ resume }) }
  }
  let now = await goOn(hi())
  const waits: number[] = []
  for (const isAnswered of [false, false, true, false, true]) {
    const [asked] = await approvals.list({ status: 'pending' })
    if (isAnswered) await approvals.respond(asked?.request.id as string, { decision: 'approve' })
    now = await goOn(now.resume)
    waits.push(now.waits)
  }
  expect(waits).toEqual([2, 2, 1, 1, 0])
  expect(now.said).toBe('done')
  expect(await approvals.list()).toHaveLength(2)
  expect(execute.mock.calls.map(([{ q }]) => q).toSorted()).toEqual(['a', 'b'])
  const count = (type: string) => told.filter((one) => one === type).length
  expect(['beforeHumanIntervention', 'afterToolCall', 'onComplete'].map(count)).toEqual([2, 2, 1])
})

it('a run that goes on is held by the gates that runWith is given then, and by no fewer', async () => {
  const { dispatcher, events } = dispatcherWith()
  dispatcher.use(createApprovals({ mode: 'park' }))
  const { search, execute } = searchTool()
  const model = fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))
  const agent = createAgent({
    model,
    tools: [search],
    middleware: [hookspanMiddleware({ dispatcher })],
    checkpointer: new MemorySaver(),
  })
  const config = { configurable: { thread_id: 'one' } }
  const asking = requireHuman({ match: 'search' })
  const first = (await runWith({ gates: [asking] }, () => agent.invoke(hi(), config))) as {
    __interrupt__?: { value: unknown }[]
  }
  const resume = new Command({ resume: first.__interrupt__?.[0]?.value })
  await expect(agent.invoke(resume, config)).rejects.toThrow(
    /held by the gate\(s\) require-human, which are missing/,
  )
  const closed: Gate = { ...asking, decide: () => deny('closed') }
  await runWith({ gates: [closed], userId: 'ann' }, () => agent.invoke(resume, config))
  expect(execute).not.toHaveBeenCalled()
  await dispatcher.drain()
  expect(find(events, 'afterToolCall')).toMatchObject({ outcome: 'denied', reason: 'closed', userId: 'ann' })
})

describe('a summary', () => {
  it('is a compaction', async () => {
    const { dispatcher, events } = dispatcherWith()
    const model = fakeModel()
      .respondWithTools(calls('search'))
      .respondWithTools(calls('search'))
      .respond(new AIMessage('done'))
    const middleware = [
      hookspanMiddleware({ dispatcher }),
      summarizationMiddleware({
        model: fakeModel().respond(new AIMessage('they searched')).respond(new AIMessage('they searched')),
        trigger: { messages: 4 },
        keep: { messages: 2 },
      }),
    ] as const
    await createAgent({ model, tools: [searchTool().search], middleware }).invoke(hi())
    await dispatcher.drain()
    expect(find(events, 'afterCompact')).toMatchObject({ summary: expect.stringContaining('they searched') })
    expect(typesOf(events).indexOf('beforeCompact')).toBeLessThan(typesOf(events).indexOf('afterCompact'))
  })
})

describe('hookspanCallbacks', () => {
  const graphOf = (...of: Parameters<typeof bareGraph>) => bareGraph(...of).compile({ name: 'bare' })
  const script = () => fakeModel().respondWithTools(calls('search')).respond(new AIMessage('done'))

  it('tell the run of a bare graph', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { search } = searchTool()
    const result = await graphOf(script(), search as never).invoke(hi(), {
      callbacks: [hookspanCallbacks({ dispatcher })],
    })
    expect(result.messages.at(-1)?.text).toBe('done')
    await dispatcher.drain()
    expect(typesOf(events)).toEqual([
      'onStart',
      'beforeLlmCall',
      'afterLlmCall',
      'beforeToolCall',
      'afterToolCall',
      'beforeLlmCall',
      'afterLlmCall',
      'onComplete',
    ])
    expect(find(events, 'afterToolCall')).toMatchObject({
      apiName: 'search',
      args: { q: 'a' },
      content: 'found a',
    })
    expect(find(events, 'onComplete')).toMatchObject({ reason: 'done', agentName: 'bare' })
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('tell a tool that fails, and two runs at once', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { search } = searchTool(() => {
      throw new Error('broken')
    })
    const callbacks = [hookspanCallbacks({ dispatcher, agentName: 'mine' })]
    await Promise.all([1, 2].map(() => graphOf(script(), search as never).invoke(hi(), { callbacks })))
    await dispatcher.drain()
    expect(events.filter(({ hookType }) => hookType === 'onToolCallError')).toHaveLength(2)
    expect(events.filter(({ hookType }) => hookType === 'onComplete')).toHaveLength(2)
  })

  it('refuse what callbacks cannot do, and no tool runs', async () => {
    const { dispatcher } = dispatcherWith(toolPolicy({ deny: ['search'] }))
    const { search, execute } = searchTool()
    const run = graphOf(script(), search as never).invoke(hi(), {
      callbacks: [hookspanCallbacks({ dispatcher })],
    })
    await expect(run).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    expect(execute).not.toHaveBeenCalled()
  })

  it('refuse a hook that says that it mocks, which nobody would ask, and take one that is switched off', async () => {
    const { dispatcher } = dispatcherWith()
    const handler = (event: HookEvent<'beforeToolCall'>) => event.mock({ content: 'mocked' })
    dispatcher.use({ name: 'dry run', hooks: [{ id: 'dry', type: 'beforeToolCall', mocks: true, handler }] })
    const { search, execute } = searchTool()
    const callbacks = [hookspanCallbacks({ dispatcher })]

    const run = graphOf(script(), search as never).invoke(hi(), { callbacks })
    await expect(run).rejects.toThrow('Tools are mocked, and adapter')
    expect(execute).not.toHaveBeenCalled()
    const adapter = { name: 'bare', capabilities: LANGGRAPH_CAPABILITIES }
    expect(() => dispatcher.startOperation({ adapter })).toThrow('Tools are mocked')
    expect(() => dispatcher.startOperation({ adapter, disable: ['dry'] })).not.toThrow()
  })
})

it.each([
  ['no dispatcher', () => hookspanMiddleware({} as never), /needs a `dispatcher`/],
  [
    'a misspelt key',
    () => hookspanMiddleware({ dispatcher: new HookDispatcher(), agentname: 'x' } as never),
    /agentName/,
  ],
  ['no dispatcher for callbacks', () => hookspanCallbacks({} as never), /needs a `dispatcher`/],
  [
    'a misspelt key of callbacks',
    () => hookspanCallbacks({ dispatcher: new HookDispatcher(), agent: 'x' } as never),
    /Known/,
  ],
])('refuses %s', (_, attach, why) => {
  expect(attach).toThrow(why)
})

it('names the model behind one that LangChain itself makes of a text', async () => {
  const { ConfigurableModel } = await import('langchain/chat_models/universal')
  const defaultConfig = { model: 'gpt-5', modelProvider: 'openai' }
  const real = new ConfigurableModel({ defaultConfig })
  // Its own would load the package of its provider.
  const chosen = (cache: unknown) => {
    const parts = { ...real, _modelInstanceCache: cache } as unknown as Record<string, unknown>
    const { _defaultConfig, _modelInstanceCache } = parts
    return Object.assign(fakeModel().respond(new AIMessage('hi')), { _defaultConfig, _modelInstanceCache })
  }
  const told = async (cache: unknown) => {
    const { dispatcher, events } = dispatcherWith()
    const agent = createAgent({
      model: chosen(cache),
      tools: [],
      middleware: [hookspanMiddleware({ dispatcher })],
    })
    await agent.invoke(hi())
    return find(events, 'beforeLlmCall')
  }
  const { _modelInstanceCache: none } = real as unknown as { _modelInstanceCache: unknown }
  expect(await told(none)).toMatchObject({ model: 'gpt-5', provider: 'openai' })
  const made = { model: 'gpt-5', lc_namespace: ['langchain', 'chat_models', 'azure'] }
  expect(await told(new Map([['', made]]))).toMatchObject({ model: 'gpt-5', provider: 'azure.ai.openai' })
})

it.each([
  ['ollama', 'ollama', 'ollama'],
  ['amazon_bedrock', 'chat_bedrock_converse', 'aws.bedrock'],
  ['google_genai', 'google', 'gcp.gemini'],
  ['google_vertexai', 'google', 'gcp.vertex_ai'],
  ['openai', 'deepseek', 'deepseek'],
  ['xai', 'xai', 'x_ai'],
])(
  'says whose model it is, in an agent and in a graph, in the words of the conventions: %s, %s',
  async (own, folder, known) => {
    const model = () =>
      Object.assign(fakeModel().respond(new AIMessage('hi')), {
        getLsParams: () => ({ ls_provider: own }),
        lc_namespace: ['langchain', 'chat_models', folder],
      })
    const { dispatcher, events } = dispatcherWith()
    await createAgent({ model: model(), tools: [], middleware: [hookspanMiddleware({ dispatcher })] }).invoke(
      hi(),
    )
    await model().invoke('hi', { callbacks: [hookspanCallbacks({ dispatcher })] })
    await dispatcher.drain()

    const asked = events.filter(({ hookType }) => hookType === 'beforeLlmCall')
    expect(asked).toMatchObject([{ provider: known }, { provider: known }])
  },
)

it.each([
  ['OpenAI', { response_metadata: { finish_reason: 'stop', model_name: 'm-1' } }],
  ['Anthropic, streamed', { additional_kwargs: { stop_reason: 'stop', model: 'm-1' } }],
  ['Google', { response_metadata: { finishReason: 'stop', model: 'm-1' } }],
  ['Bedrock', { response_metadata: { stopReason: 'stop', model: 'm-1' } }],
  ['Ollama', { response_metadata: { done_reason: 'stop', model: 'm-1' } }],
])('tells why the model stopped, as the package of %s says it', async (_, about) => {
  const { dispatcher, events } = dispatcherWith()
  const model = fakeModel().respond(new AIMessage({ content: 'hi', ...about }))
  await createAgent({ model, tools: [], middleware: [hookspanMiddleware({ dispatcher })] }).invoke(hi())
  await dispatcher.drain()
  expect(find(events, 'afterLlmCall')).toMatchObject({ response: { finishReasons: ['stop'], model: 'm-1' } })
})

it.each([
  ['denied', () => deny('not that'), ['not that']],
  ['rewritten', () => mutate({ content: 'something else' }), ['something else']],
  ['let through', () => undefined, ['the secret']],
])('shows nothing of a reply before a gate has decided: %s', async (_, decide, shown) => {
  for (const tools of [[], [searchTool().search]]) {
    const { dispatcher } = dispatcherWith(gate('afterLlmCall', decide as Gate['decide']))
    const model = fakeModel().respond(new AIMessage('the secret'))
    const agent = createAgent({ model, tools, middleware: [hookspanMiddleware({ dispatcher })] })
    const seen: string[] = []
    for await (const [message] of await agent.stream(hi(), { streamMode: 'messages' }))
      seen.push(message.text)
    expect(seen).toEqual(shown)
  }
})
