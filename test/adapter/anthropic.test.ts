import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { ANTHROPIC_CAPABILITIES, observeAnthropic, unobserveAnthropic } from 'hookspan/anthropic'
import { deny, mutate, skip } from 'hookspan/gates'
import { human, mock, mockTools, type ScriptedStep, scriptedApprovals, scriptedFetch } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { all, seen, settled } from '../support/seen-by-caller.ts'
import { traced } from '../support/span-tree.ts'

afterEach(() => void vi.restoreAllMocks())

const ask = { model: 'claude-opus-5', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hi' }] }
const usage = { inputTokens: 12, outputTokens: 3 }
const SEARCH: ScriptedStep = {
  toolCalls: [{ id: 'toolu_1', name: 'search', arguments: { q: 'bags' } }],
  usage,
}
const DONE: ScriptedStep = { content: 'Three bags.', usage }

function clientOf(...steps: ScriptedStep[]) {
  const fetch = scriptedFetch({ steps })
  return { client: new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), fetch }
}

function observed(...steps: ScriptedStep[]) {
  const { client, fetch } = clientOf(...steps)
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  return { client: observeAnthropic(client, { dispatcher, agentName: 'shop' }), fetch, tree, dispatcher }
}

const search = (run: (args: { q: string }, context?: object) => unknown) => ({
  name: 'search',
  description: 'Searches.',
  input_schema: { type: 'object' as const, properties: { q: { type: 'string' } } },
  run: run as () => string,
})

/** The SDK's own sets of tools are asked for by the name of a member. */
const BROWSE: ScriptedStep = {
  raw: {
    body: JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: ask.model,
      content: [
        {
          type: 'tool_use',
          id: 't1',
          name: 'navigate',
          toolset_name: 'browser',
          input: { url: 'https://bags' },
        },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
  },
}
const browser = (run: (toolUse: { input: unknown }) => string) => ({
  type: 'browser_toolset_20260801',
  run: async (_context: unknown, toolUse: { input: unknown }) => run(toolUse),
})

const loop = (client: Anthropic, tool = search(() => 'found 3'), more: object = {}, options?: object) =>
  client.beta.messages.toolRunner({ ...ask, tools: [tool], ...more } as never, options as never)

it('asks with the signal of its caller, of which nothing is derived that it would keep', async () => {
  const { client } = observed(SEARCH, DONE)
  const { signal } = new AbortController()
  const any = vi.spyOn(AbortSignal, 'any')
  await loop(client, undefined, {}, { signal })
  expect(any).not.toHaveBeenCalled()
})

type Use = readonly [
  name: string,
  steps: readonly ScriptedStep[],
  use: (client: Anthropic) => Promise<unknown>,
]

const USES: readonly Use[] = [
  ['create', [DONE], (client) => client.messages.create(ask)],
  ['beta create', [DONE], (client) => client.beta.messages.create(ask)],
  [
    'withResponse',
    [DONE],
    async (client) => {
      const { data, response } = await client.messages.create(ask).withResponse()
      return [data, response.status, (data as { _request_id?: string })._request_id]
    },
  ],
  ['asResponse', [DONE], async (client) => (await client.messages.create(ask).asResponse()).json()],
  [
    'asResponse of a stream',
    [DONE],
    async (client) => (await client.messages.create({ ...ask, stream: true }).asResponse()).text(),
  ],
  [
    'a stream',
    [{ ...SEARCH, content: 'Let me look.', reasoning: 'hm' }],
    async (client) => all(await client.messages.create({ ...ask, stream: true })),
  ],
  [
    'a stream that is left, and tee',
    [DONE, DONE],
    async (client) => {
      const events: unknown[] = []
      for await (const event of await client.messages.create({ ...ask, stream: true })) {
        events.push(event)
        break
      }
      const [left, right] = (await client.messages.create({ ...ask, stream: true })).tee()
      return [events, await all(left), await all(right)]
    },
  ],
  [
    "the stream helper's events",
    [{ ...SEARCH, content: 'Let me look.' }],
    async (client) => {
      const events: unknown[] = []
      const stream = client.messages.stream(ask)
      for (const name of ['connect', 'text', 'inputJson', 'contentBlock', 'message', 'end'] as const) {
        stream.on(name, (...args: unknown[]) => void events.push([name, ...args]))
      }
      const message = await stream.finalMessage()
      return [events, message, await stream.finalText().catch(String)]
    },
  ],
  [
    'a stream helper that is aborted',
    [{ ...DONE, chunkDelayMs: 20 }],
    async (client) => {
      const stream = client.messages.stream(ask)
      stream.on('text', () => stream.abort())
      return stream.finalMessage()
    },
  ],
  [
    'a stream that breaks',
    [{ ...DONE, cutAfterChunks: 3 }],
    (client) => client.beta.messages.stream(ask).finalMessage(),
  ],
  ['an error', [{ error: { status: 400, message: 'no' } }], (client) => client.messages.create(ask)],
  [
    'an abort before it begins',
    [],
    (client) => client.messages.create(ask, { signal: AbortSignal.abort(new Error('enough')) }),
  ],
  [
    'an abort while it waits',
    [{ ...DONE, latencyMs: 10_000 }],
    (client) => client.messages.create(ask, { signal: AbortSignal.timeout(30) }),
  ],
  [
    'parse',
    [{ content: '{"n":3}' }],
    async (client) => {
      const format = { type: 'json_schema', schema: { type: 'object' }, parse: JSON.parse }
      const parsed = await client.messages.parse({ ...ask, output_config: { format } } as never)
      return (parsed as { parsed_output?: unknown }).parsed_output
    },
  ],
  [
    'a message thread',
    [DONE, SEARCH],
    async (client) => {
      const thread = client.beta.messages.thread({ model: ask.model, max_tokens: 9 })
      const first = await thread.send({ role: 'user', content: 'hi' })
      const second = await thread.stream({ role: 'user', content: 'more' }).finalMessage()
      return [first, second, thread.messages]
    },
  ],
  [
    'two tool runners of one thread',
    [SEARCH, DONE, SEARCH, DONE],
    async (client) => {
      let count = 0
      const tools = [search(() => `found ${++count}`)]
      const thread = client.beta.messages.thread({ ...ask, tools } as never)
      const first = await thread.toolRunner()
      thread.append({ role: 'user', content: 'more' })
      return [first, await thread.toolRunner().runUntilDone(), thread.messages]
    },
  ],
  ['a tool runner', [SEARCH, DONE], (client) => loop(client).runUntilDone()],
  [
    'a tool runner, turn by turn',
    [SEARCH, DONE],
    async (client) => {
      const runner = loop(client)
      const turns = []
      for await (const message of runner) turns.push([message, await runner.generateToolResponse()])
      return [turns, await runner.done(), runner.params.messages]
    },
  ],
  [
    'a streamed tool runner',
    [SEARCH, DONE],
    async (client) => {
      const events: unknown[] = []
      const runner = loop(client, undefined, { stream: true })
      for await (const stream of runner as unknown as AsyncIterable<AsyncIterable<unknown>>)
        for await (const event of stream) events.push(event)
      return [events, await runner.done()]
    },
  ],
  [
    'a tool runner that starts its tools early',
    [SEARCH, DONE],
    (client) => loop(client, undefined, { stream: true, runToolsEagerly: true }).runUntilDone(),
  ],
  [
    'a tool runner whose tool throws',
    [SEARCH, DONE],
    async (client) => {
      const runner = loop(
        client,
        search(() => Promise.reject(new TypeError('bad q'))),
      )
      return [await runner, runner.params.messages]
    },
  ],
  [
    "a tool runner whose tool gives blocks, and the SDK's own error",
    [
      { toolCalls: [...(SEARCH.toolCalls ?? []), { id: 'toolu_2', name: 'search', arguments: { q: 'x' } }] },
      DONE,
    ],
    async (client) => {
      const { ToolError } = client.beta.messages.constructor as typeof Anthropic.Beta.Messages & {
        ToolError: new (content: unknown) => Error
      }
      const blocks = [{ type: 'text', text: 'found' }]
      const runner = loop(
        client,
        search(({ q }) => {
          if (q === 'x') throw new ToolError(blocks)
          return blocks
        }),
      )
      return [await runner, runner.params.messages]
    },
  ],
  [
    'a tool runner whose tool reads its arguments for itself, and refuses them',
    [SEARCH, SEARCH, DONE],
    async (client) => {
      let refuse = true
      const parse = (given: { q: string }) => {
        refuse = !refuse
        if (refuse) throw new Error(`not ${given.q}`)
        return { q: given.q.toUpperCase() }
      }
      const tool = { ...search(({ q }) => `found ${q}`), parse: parse as never }
      const runner = loop(client, tool)
      return [await runner, runner.params.messages]
    },
  ],
  [
    'a tool runner that is given another tool on its way',
    [{ toolCalls: [{ id: 't', name: 'late', arguments: {} }] }, DONE],
    async (client) => {
      const runner = loop(client)
      runner.addTools({ ...search(() => 'late, but found'), name: 'late' } as never)
      return [await runner, runner.params.messages]
    },
  ],
  [
    "a tool of the SDK's helper",
    [SEARCH, DONE],
    async (client) => {
      const inputSchema = z.object({ q: z.string(), limit: z.number().default(3) })
      const run = ({ q, limit }: { q: string; limit: number }) => `${limit} ${q}`
      const own = betaZodTool({ name: 'search', description: '', inputSchema, run })
      const runner = loop(client, own as never)
      return [await runner, runner.params.messages]
    },
  ],
  [
    'a set of tools',
    [BROWSE, DONE],
    async (client) => {
      const runner = loop(client, browser(({ input }) => `at ${JSON.stringify(input)}`) as never)
      return [await runner, runner.params.messages]
    },
  ],
  [
    'a tool runner that may not go on',
    [SEARCH],
    (client) => loop(client, undefined, { max_iterations: 1 }).runUntilDone(),
  ],
  [
    'a tool runner that is left',
    [SEARCH],
    async (client) => {
      for await (const message of loop(client)) return message
      return undefined
    },
  ],
  [
    'a tool runner that is aborted in a tool',
    [SEARCH],
    (client) => {
      const controller = new AbortController()
      const tool = search(() => {
        controller.abort(new Error('enough'))
        return 'found'
      })
      return loop(client, tool, {}, { signal: controller.signal }).runUntilDone()
    },
  ],
  [
    'a streamed tool runner that was aborted before it began',
    [],
    async (client) => {
      const signal = AbortSignal.abort(new Error('enough'))
      for await (const turn of loop(client, undefined, { stream: true }, { signal })) await all(turn as never)
    },
  ],
  [
    'a tool runner that is read twice',
    [SEARCH, DONE],
    async (client) => {
      const runner = loop(client)
      await runner
      return all(runner as never)
    },
  ],
  [
    'a tool runner whose model fails',
    [{ error: { status: 400, message: 'no' } }],
    async (client) => loop(client),
  ],
  [
    'what is no model call',
    [],
    async (client) => client.beta.files.upload({ file: await toFile(Buffer.from('x'), 'x') } as never),
  ],
]

/** The model asks for `load`, and then for `late`. */
const LOAD_LATE = ['load', 'late'].map((name, id) => ({
  toolCalls: [{ id: `toolu_${id}`, name, arguments: {} }],
}))

describe('the list of tools of a runner', () => {
  async function ran(how: string, given: ReturnType<typeof observed>, tools: object[] = []) {
    const bodies: string[] = []
    const made = (name: string, does = () => {}) => ({
      ...search(() => {
        bodies.push(name)
        does()
        return name
      }),
      name,
    })
    const late = made('late')
    tools.push(made('load', () => (how === 'given' ? tools.push(late) : how === 'taken' && tools.pop())))
    if (how === 'taken') tools.push(late)
    const runner = given.client.beta.messages.toolRunner({ ...ask, tools, thread: false } as never)
    let turns = 0
    for await (const _turn of runner)
      if (turns++ === 0 && how === 'params') runner.params.tools.push(late as never)
    return bodies
  }

  it.each([
    ['given', ['load', 'late']],
    ['params', ['load', 'late']],
    ['taken', ['load']],
  ])('is the one that the program changes while it runs: %s', async (how, bodies) => {
    const { client, fetch } = clientOf(...LOAD_LATE, DONE)
    expect(await ran(how, { client, fetch } as never)).toEqual(bodies)
    expect(await ran(how, observed(...LOAD_LATE, DONE))).toEqual(bodies)

    const careful = observed(...LOAD_LATE, DONE)
    careful.dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['late'] })] })
    expect(await ran(how, careful)).toEqual(['load'])
  })
})

describe('an observed client of @anthropic-ai/sdk is as it is bare', () => {
  it.each(USES)('%s', async (_name, steps, use) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const bare = clientOf(...steps)
    const { client, fetch, dispatcher, tree } = observed(...steps)
    const expected = await seen(use, bare.client)
    expect(await seen(use, client)).toEqual(expected)
    const threw = (expected as { threw?: string } | null)?.threw !== undefined
    expect(threw).toBe(/^an error|abort|breaks|twice|fails$|no model call/.test(_name))
    await settled(dispatcher)

    const sent = ({ requests }: typeof fetch) =>
      requests.map(({ body, path, headers }) => [path, body, headers['x-stainless-helper']])
    expect(sent(fetch)).toEqual(sent(bare.fetch))
    expect(tree.all.filter(({ ends }) => ends.length !== 1)).toEqual([])
  })
})

const trees = async (dispatcher: HookDispatcher, tree: ReturnType<typeof activityTree>) => {
  await settled(dispatcher)
  return tree.lines()
}
const RUN = [
  'invoke_agent shop',
  '  step 0',
  '    chat claude-opus-5',
  '    execute_tool search',
  '  step 1',
  '    chat claude-opus-5',
]

describe('a tool runner of an observed client', () => {
  it.each([{}, { thread: false }, { stream: true }, { stream: true, runToolsEagerly: true }])(
    'is a run, its turns are steps: %o',
    async (more) => {
      const { client, dispatcher, tree } = observed(SEARCH, DONE)
      await loop(client, undefined, more)
      expect(await trees(dispatcher, tree)).toEqual(RUN)
    },
  )

  it('of a thread is a run each', async () => {
    const { client, dispatcher, tree } = observed(SEARCH, DONE, SEARCH, DONE)
    const thread = client.beta.messages.thread({ ...ask, tools: [search(() => 'found')] } as never)
    await thread.toolRunner()
    thread.append({ role: 'user', content: 'more' })
    await thread.fork().toolRunner()
    expect(await trees(dispatcher, tree)).toEqual([...RUN, ...RUN])
  })

  it('tells what was asked and said, and why it ended', async () => {
    const { client, dispatcher } = observed(SEARCH, DONE, SEARCH, SEARCH)
    const told: object[] = []
    dispatcher.use({
      name: 'told',
      hooks: [
        {
          id: 'start',
          type: 'onStart',
          handler: ({ input, instructions }) => void told.push({ input, instructions }),
        },
        { id: 'step', type: 'afterLlmCall', handler: ({ usage: used }) => void told.push({ used }) },
        {
          id: 'end',
          type: 'onComplete',
          handler: ({ reason, content }) => void told.push({ reason, content }),
        },
      ],
    })
    await loop(client, undefined, { system: 'You sell bags.' })
    await loop(client, undefined, { max_iterations: 1 })
    for await (const _message of loop(client)) break
    await settled(dispatcher)
    expect(told).toEqual([
      { input: ask.messages, instructions: 'You sell bags.' },
      { used: usage },
      { used: usage },
      { reason: 'done', content: 'Three bags.' },
      { input: ask.messages },
      { used: usage },
      { reason: 'max_steps' },
      { input: ask.messages },
      { used: usage },
      { reason: 'interrupted' },
    ])
  })

  it('lies in the operation that is running, below its tool, or in the one it was given', async () => {
    const { client, dispatcher, tree } = observed(SEARCH, DONE, SEARCH, DONE, SEARCH, DONE)
    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(async () => void (await loop(client)))
    await op.step((step) => step.toolCall({ apiName: 'ask', args: {} }, async () => (await loop(client)).id))
    await op.complete()
    const given = dispatcher.startOperation({ agentName: 'given' })
    observeAnthropic(client, { dispatcher, operation: given })
    await loop(client)
    await given.complete()
    const inside = ['chat claude-opus-5', 'execute_tool search', 'chat claude-opus-5']
    expect(await trees(dispatcher, tree)).toEqual([
      'invoke_agent mine',
      '  step 0',
      ...inside.map((line) => `    ${line}`),
      '  step 1',
      '    execute_tool ask',
      '      agent',
      '        invoke_agent ask',
      ...RUN.slice(1).map((line) => `        ${line}`),
      'invoke_agent given',
      ...RUN.slice(1),
    ])
  })

  it('has the model calls of its tools below them, and a runner in a tool as its sub-agent', async () => {
    const { client, dispatcher, tree } = observed(SEARCH, DONE, SEARCH, DONE, DONE)
    const tool = search(async () => {
      await client.messages.create(ask)
      return (await loop(client)).id
    })
    await loop(client, tool)
    expect(await trees(dispatcher, tree)).toEqual([
      ...RUN.slice(0, 4),
      '      chat claude-opus-5',
      '      agent',
      '        invoke_agent search',
      ...RUN.slice(1).map((line) => `        ${line}`),
      ...RUN.slice(4),
    ])
  })

  it.each([
    [[], '[]'],
    [[{ type: 'flight', to: 'Oslo' }], '[{"type":"flight","to":"Oslo"}]'],
    [[{ type: 'text', text: 'Oslo' }], [{ type: 'text', text: 'Oslo' }]],
  ])('tells what a mock returns as text, unless it is what the API takes: %j', async (returns, content) => {
    const { client, dispatcher, fetch } = observed(SEARCH, DONE)
    using _mocks = mockTools(dispatcher, [mock('search').returns(returns)])
    await loop(client, undefined, { tools: [search(() => expect.unreachable())] })
    expect(fetch.requests[1]?.messages.at(-1)).toMatchObject({ content: [{ type: 'tool_result', content }] })
  })

  it('takes mocks, policies and humans as they are', async () => {
    const { client, dispatcher, fetch } = observed(
      {
        toolCalls: ['search', 'drop_table', 'delete_order'].map((name, i) => ({
          id: `t${i}`,
          name,
          arguments: { q: 'x' },
        })),
      },
      DONE,
    )
    const live = vi.fn(() => 'live')
    const tools = ['search', 'drop_table', 'delete_order'].map((name) => ({ ...search(live), name }))
    using mocks = mockTools(dispatcher, [mock('search').returns({ bags: 3 })], { onUnmocked: 'passthrough' })
    using humans = scriptedApprovals(dispatcher, [human('delete_order').rejects('not today')])
    dispatcher.use({
      name: 'careful',
      gates: [toolPolicy({ deny: ['drop_*'] }), requireHuman({ match: 'delete_*' })],
    })
    await loop(client, undefined, { tools })
    mocks.assertUsed()
    humans.assertUsed()
    expect(live).not.toHaveBeenCalled()
    expect(fetch.requests[1]?.messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't0', content: '{"bags":3}' },
        {
          type: 'tool_result',
          tool_use_id: 't1',
          content: expect.stringContaining('"denied":true,"code":"tool_not_allowed"'),
          is_error: true,
        },
        {
          type: 'tool_result',
          tool_use_id: 't2',
          content: expect.stringContaining('not today'),
          is_error: true,
        },
      ],
    })
  })

  it.each([
    ['set', (tool: object, run: unknown) => Object.assign(tool, { run })],
    ['defined', (tool: object, run: unknown) => Object.defineProperty(tool, 'run', { value: run })],
  ])('runs a tool once whose body somebody wraps in the runner: %s', async (_, put) => {
    const { client, dispatcher, tree } = observed(SEARCH, DONE)
    const ran: string[] = []
    const tool = search(() => {
      ran.push('own')
      return 'found 3'
    })
    const runner = loop(client, tool)
    // As Sentry does.
    const [watched] = (runner as unknown as { params: { tools: { run: (...args: unknown[]) => unknown }[] } })
      .params.tools
    if (watched === undefined) throw new Error('The runner has no tool.')
    const { run } = watched
    put(watched, (...args: unknown[]) => {
      ran.push('theirs')
      return run(...args)
    })
    await runner
    await dispatcher.drain()

    expect(ran).toEqual(['theirs', 'own'])
    expect(tool.run()).toBe('found 3')
    expect(tree.lines()).toContain('    execute_tool search')
  })

  it('has its gates in a copy of the client, too, that somebody makes to wrap its calls', async () => {
    const { client, dispatcher } = observed(SEARCH, DONE)
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['search'] })] })
    const { messages } = client.beta
    const copy = Object.assign(Object.create(Object.getPrototypeOf(messages)), messages)
    const ran = vi.fn(() => 'found 3')
    await loop({ ...client, beta: { ...client.beta, messages: copy } } as unknown as Anthropic, search(ran))

    expect(ran).not.toHaveBeenCalled()
  })

  it('has the members of a set of tools as tools', async () => {
    const { client, dispatcher, fetch } = observed(BROWSE, DONE, BROWSE, DONE)
    const live = vi.fn(({ input }: { input: unknown }) => JSON.stringify(input))
    const change = {
      id: 'c',
      point: 'beforeToolCall',
      decide: () => mutate({ url: 'https://purses' }),
    } as const
    const undo = dispatcher.use({ name: 'change', gates: [change] })
    await loop(client, browser(live) as never)
    undo[Symbol.dispose]()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['navigate'] })] })
    await loop(client, browser(live) as never)
    expect(live).toHaveBeenCalledTimes(1)
    const told = [fetch.requests[1], fetch.requests[3]].map((request) => request?.messages.at(-1))
    expect(told).toMatchObject([
      { content: [{ toolset_name: 'browser', content: '{"url":"https://purses"}' }] },
      { content: [{ toolset_name: 'browser', content: expect.stringContaining('denied'), is_error: true }] },
    ])
  })

  it.each([{}, { stream: true }, { thread: false, stream: true }])(
    'lets gates answer for the model, before and after it has: %o',
    async (more) => {
      const { client, dispatcher, fetch } = observed(DONE)
      const text = async () => (await loop(client, undefined, more)).content
      const after = {
        id: 'after',
        point: 'afterLlmCall',
        decide: () => mutate({ content: 'rewritten' }),
      } as const
      const undo = dispatcher.use({ name: 'after', gates: [after] })
      expect(await text()).toMatchObject([{ type: 'text', text: 'rewritten' }])
      undo[Symbol.dispose]()
      const before = { id: 'before', point: 'beforeLlmCall', decide: () => skip('from the gate') } as const
      dispatcher.use({ name: 'before', gates: [before] })
      expect(await text()).toMatchObject([{ type: 'text', text: 'from the gate' }])
      expect(fetch.requests).toHaveLength(1)
    },
  )

  it('ends where a gate stops it, and gives no last word that a gate withholds', async () => {
    const { client, dispatcher, tree, fetch } = observed(SEARCH, DONE)
    const stop = {
      id: 'stop',
      point: 'beforeToolCall',
      decide: () => deny('enough', { stop: true }),
    } as const
    const undo = dispatcher.use({ name: 'stop', gates: [stop] })
    await expect(loop(client).runUntilDone()).rejects.toMatchObject({ code: 'RUN_DENIED' })
    expect(fetch.requests).toHaveLength(1)
    undo[Symbol.dispose]()
    const last = { id: 'last', point: 'beforeComplete', decide: () => deny('a secret') } as const
    dispatcher.use({ name: 'last', gates: [last] })
    await expect(loop(client).runUntilDone()).rejects.toMatchObject({ code: 'CALL_DENIED' })
    expect(await trees(dispatcher, tree)).toEqual([...RUN.slice(0, 4), ...RUN.slice(0, 3)])
  })

  it('refuses a gate that it cannot hold before anything runs', async () => {
    const { client, dispatcher, fetch } = observed()
    expect(ANTHROPIC_CAPABILITIES).toMatchObject({ park: false, compaction: false })
    const gate = { id: 'whole', point: 'beforeCompact', decide: () => deny('no') } as const
    dispatcher.use({ name: 'whole', gates: [gate] })
    await expect(loop(client).runUntilDone()).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    expect(fetch.requests).toEqual([])
  })

  it("keeps the user's storage, trace and abort signal in its tools", async () => {
    using setup = traced()
    const { client } = clientOf(SEARCH, DONE)
    observeAnthropic(client, { dispatcher: setup.dispatcher, agentName: 'shop' })
    const storage = new AsyncLocalStorage<string>()
    const controller = new AbortController()
    let seenThere: unknown
    const tool = search(async (_args, context) => {
      const { signal } = context as { signal: AbortSignal }
      await new Promise((resolve) => setImmediate(resolve))
      setup.tracer.startSpan('SELECT bags').end()
      controller.abort(new Error('enough'))
      seenThere = [storage.getStore(), signal.aborted, (signal.reason as Error).message]
      return 'found'
    })
    const ran = storage.run('mine', () =>
      loop(client, tool, {}, { signal: controller.signal }).runUntilDone(),
    )
    await expect(ran).rejects.toThrow(Anthropic.APIUserAbortError)
    await expect.poll(() => seenThere).toEqual(['mine', true, 'enough'])
    expect(setup.tree().split('\n')).toEqual([...RUN.slice(0, 4), '      SELECT bags'])
  })

  it.each([
    ['omit', []],
    [
      'nest',
      ['anthropic.messages.create', 'anthropic.messages.tool_runner', 'anthropic.custom_tool_use search'],
    ],
  ] as const)(
    "has each call as one span, and the SDK's own only with sdkSpans: %s",
    async (sdkSpans, own) => {
      using setup = traced()
      trace.setGlobalTracerProvider(setup.provider)
      const { client } = clientOf(SEARCH, DONE, DONE)
      observeAnthropic(client, { dispatcher: setup.dispatcher, agentName: 'shop', sdkSpans })
      await loop(client)
      const names = setup.spans().map(({ name }) => name)
      expect(names.filter((name) => !name.startsWith('anthropic.')).sort()).toEqual(
        RUN.map((line) => line.trim().replace(/^step .*/, 'step')).sort(),
      )
      expect(new Set(names.filter((name) => name.startsWith('anthropic.')))).toEqual(new Set(own))
      unobserveAnthropic(client)
      await client.messages.create(ask)
      expect(setup.spans().at(-1)?.name).toBe('anthropic.messages.create')
    },
  )
})

describe('observing', () => {
  it('twice is once, of what withOptions makes, and is undone', async () => {
    const { client, dispatcher, tree } = observed(SEARCH, DONE, SEARCH, DONE, SEARCH, DONE)
    expect(observeAnthropic(client, { dispatcher, agentName: 'shop' })).toBe(client)
    await loop(client)
    await loop(client.withOptions({ timeout: 1_000 }))
    expect(await trees(dispatcher, tree)).toEqual([...RUN, ...RUN])

    expect(unobserveAnthropic(client)).toBe(client)
    const { client: bare } = clientOf()
    expect(Reflect.ownKeys(client)).toEqual(Reflect.ownKeys(bare))
    expect(Reflect.ownKeys(client.beta.messages)).toEqual(Reflect.ownKeys(bare.beta.messages))
    await loop(client)
    expect(tree.lines()).toHaveLength(2 * RUN.length)
  })

  it('sees beta messages where older versions ask for them', async () => {
    const { client, dispatcher, tree } = observed(DONE)
    await client.post('/v1/messages?beta=true', { body: ask })
    expect(await trees(dispatcher, tree)).toEqual(['invoke_agent shop', '  chat claude-opus-5'])
  })

  it('sees a request that is made by hand', async () => {
    const { client, dispatcher, tree } = observed(DONE)
    await client.request({ method: 'post', path: '/v1/messages', body: ask })
    expect(await trees(dispatcher, tree)).toEqual(['invoke_agent shop', '  chat claude-opus-5'])
  })

  it('works with several copies of the SDK in one process', async () => {
    const Copy = createRequire(import.meta.url)('@anthropic-ai/sdk') as typeof Anthropic
    expect(Copy).not.toBe(Anthropic)
    const { client, dispatcher, tree } = observed(SEARCH, DONE)
    const other = new Copy({ apiKey: 'k', fetch: scriptedFetch({ steps: [SEARCH, DONE] }), maxRetries: 0 })
    observeAnthropic(other, { dispatcher, agentName: 'shop' })
    await Promise.all([loop(client), loop(other)])
    expect(await trees(dispatcher, tree)).toEqual([...RUN, ...RUN])
  })

  it('leaves the tools that it is given alone, frozen ones and those with a private state, too', async () => {
    class Counter {
      #count = 0
      readonly name = 'search'
      readonly input_schema = { type: 'object' as const }
      run() {
        this.#count++
        return `asked ${this.#count} times`
      }
      toJSON() {
        return {
          name: this.name,
          input_schema: this.input_schema,
          description: this.#count < 0 ? '' : 'Counts.',
        }
      }
    }
    const { client, fetch } = observed(SEARCH, DONE)
    const tool = Object.freeze(new Counter())
    const keys = Reflect.ownKeys(tool)
    await loop(client, tool as never)
    expect(Reflect.ownKeys(tool)).toEqual(keys)
    expect(fetch.requests[1]?.messages.at(-1)).toMatchObject({ content: [{ content: 'asked 1 times' }] })
    expect(fetch.requests[0]?.body.tools).toMatchObject([{ name: 'search', description: 'Counts.' }])
  })

  it('refuses what is no client, and options that there are not', () => {
    const dispatcher = new HookDispatcher()
    const { client } = clientOf()
    const attach = observeAnthropic as (client: unknown, options: unknown) => unknown
    expect(() => attach(undefined, { dispatcher })).toThrow(/observeAnthropic.*@anthropic-ai\/sdk/)
    expect(() => attach(client, {})).toThrow(/observeAnthropic needs a `dispatcher`/)
    expect(() => attach(client, { dispatcher, sdkSpan: 'omit' })).toThrow(/sdkSpan.*sdkSpans/s)
    expect(() => attach(client, { dispatcher, sdkSpans: 'yes' })).toThrow(/`sdkSpans`.*"omit" or "nest"/)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(attach({ messages: {} }, { dispatcher })).toEqual({ messages: {} })
    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining('cannot observe this client (@anthropic-ai/sdk'),
    )
  })
})
