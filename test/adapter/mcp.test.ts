import { AsyncLocalStorage } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { deny, mutate } from 'hookspan/gates'
import {
  MCP_CAPABILITIES,
  observeMcpClient,
  observeMcpServer,
  unobserveMcpClient,
  unobserveMcpServer,
} from 'hookspan/mcp'
import { human, mock, mockTools, scriptedApprovals } from 'hookspan/mock'
import { redact, requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { traced } from '../support/span-tree.ts'
import { dispatcherWith, findAll } from '../support/told-events.ts'
import { SDKS } from './subjects/mcp.ts'

afterEach(() => void vi.restoreAllMocks())

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const search = { name: 'search', arguments: { q: 'bags' } }

function tracked() {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  return { dispatcher, tree }
}

describe.each(['1', '2'] as const)('version %s of the MCP SDK', (version) => {
  const { Client, McpServer, InMemoryTransport } = SDKS[version]

  /** A server with a tool of each kind, and its client. */
  async function pair() {
    const live = vi.fn(async ({ q }: { q: string }) => text(`found ${q}`))
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    const inputSchema = z.object({ q: z.string() })
    server.registerTool('search', { inputSchema }, live)
    server.registerTool('fails', { inputSchema }, async ({ q }) => ({ ...text(`no ${q}`), isError: true }))
    server.registerTool('throws', { inputSchema }, () => Promise.reject(new Error('the shelf fell down')))
    server.registerTool('hangs', { inputSchema }, () => new Promise<never>(() => {}))
    server.registerTool('count', { inputSchema, outputSchema: z.object({ bags: z.number() }) }, async () => ({
      ...text('3'),
      structuredContent: { bags: 3 },
    }))
    server.registerTool('asks', { inputSchema }, async () => {
      const requestedSchema = { type: 'object' as const, properties: {} }
      const { action } = await server.server.elicitInput({ message: 'Really?', requestedSchema })
      return text(action)
    })
    server.registerTool('thinks', { inputSchema }, async ({ q }) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: q } }]
      const reply = await server.server.createMessage({ messages, maxTokens: 9 })
      const { content } = reply as { content: { text?: string } }
      return text(content.text ?? '')
    })
    server.registerTool('plans', { inputSchema }, async ({ q }) => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: q } }]
      const tools = [{ name: 'weigh', inputSchema: { type: 'object' as const, properties: {} } }]
      const reply = await server.server.createMessage({ messages, maxTokens: 9, tools })
      return text(JSON.stringify(reply))
    })
    server.registerResource('stock', 'shop://stock', {}, async ({ href }) => ({
      contents: [{ uri: href, text: '3 bags' }],
    }))
    const argsSchema = version === '1' ? ({ what: z.string() } as never) : z.object({ what: z.string() })
    server.registerPrompt('sell', { argsSchema }, ({ what }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Sell ${what}.` } }],
    }))
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} }, sampling: { tools: {} } } },
    )
    const asked: Record<string, unknown>[] = []
    const elicited = async ({ params }: { params?: Record<string, unknown> }) => {
      asked.push(params ?? {})
      return { action: 'decline' as const }
    }
    const sampled = async ({ params }: { params?: Record<string, unknown> }) => {
      asked.push(params ?? {})
      const thought = { type: 'text' as const, text: 'a thought' }
      const call = { type: 'tool_use' as const, id: 'u', name: 'weigh', input: { kg: 1 } }
      const content = params?.tools === undefined ? thought : [thought, call]
      return { role: 'assistant' as const, model: 'small-model', stopReason: 'endTurn', content }
    }
    if (version === '1') {
      const first = client as unknown as Client1
      first.setRequestHandler(ElicitRequestSchema, elicited)
      first.setRequestHandler(CreateMessageRequestSchema, sampled as never)
    } else {
      client.setRequestHandler('elicitation/create', elicited)
      client.setRequestHandler('sampling/createMessage', sampled as never)
    }
    const [left, right] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(left), client.connect(right)])
    return { server, client, live, asked }
  }
  type Pair = Awaited<ReturnType<typeof pair>>

  const call = ({ client }: Pair, name: string, options?: object) =>
    (client.callTool as (...args: unknown[]) => Promise<unknown>)(
      { name, arguments: { q: 'bags' } },
      ...(version === '1' ? [undefined] : []),
      options,
    )
  /** What the client's own methods ask with. Version 1 wants a schema. */
  const request = ({ client }: Pair, name: string, schema?: object, options?: object) => {
    const given = schema ?? (version === '1' ? CallToolResultSchema : undefined)
    const asked = { method: 'tools/call', params: { name, arguments: { q: 'bags' } } }
    return (client.request as (...args: unknown[]) => Promise<unknown>)(
      asked,
      ...(given ? [given] : []),
      options,
    )
  }
  const USES: readonly (readonly [string, (both: Pair) => Promise<unknown>])[] = [
    ...['search', 'fails', 'throws', 'count', 'asks', 'thinks', 'unknown'].map(
      (name) => [`callTool of ${name}`, (both: Pair) => call(both, name)] as const,
    ),
    ['wrong arguments', ({ client }) => client.callTool({ name: 'search', arguments: {} })],
    ['a timeout', (both) => call(both, 'hangs', { timeout: 20 })],
    ['an abort', (both) => call(both, 'hangs', { signal: AbortSignal.timeout(20) })],
    ['an abort before', (both) => call(both, 'hangs', { signal: AbortSignal.abort(new Error('no')) })],
    ['readResource', ({ client }) => client.readResource({ uri: 'shop://stock' })],
    ['readResource of none', ({ client }) => client.readResource({ uri: 'shop://none' })],
    ['getPrompt', ({ client }) => client.getPrompt({ name: 'sell', arguments: { what: 'bags' } })],
    ['request', (both) => request(both, 'search')],
    ['request of a tool that fails', (both) => request(both, 'throws')],
    ['request with a schema', (both) => request(both, 'count', CallToolResultSchema)],
    ['request with options', (both) => request(both, 'hangs', undefined, { timeout: 20 })],
    [
      'what is listed',
      async ({ client }) => [
        await client.listTools(),
        await client.listResources(),
        await client.listPrompts(),
      ],
    ],
  ]

  async function seen(use: (both: Pair) => Promise<unknown>, both: Pair): Promise<unknown> {
    try {
      return await use(both)
    } catch (error) {
      const { name, code, message } = error as Error & { code?: unknown }
      return { threw: (error as object).constructor.name, name, code, message }
    } finally {
      await both.client.close()
    }
  }

  describe('observed on both sides is as it is bare', () => {
    it.each(USES)('%s', async (_name, use) => {
      const expected = await seen(use, await pair())
      const both = await pair()
      const { dispatcher, tree } = tracked()
      observeMcpClient(both.client, { dispatcher })
      observeMcpServer(both.server, { dispatcher })
      expect(await seen(use, both)).toEqual(expected)
      await expect.poll(() => dispatcher.stats().operations).toBe(0)
      expect(tree.all.filter(({ ends }) => ends.length !== 1)).toEqual([])
    })
  })

  describe('asked by a tool that the adapter of an SDK has told as one of MCP', () => {
    async function asking(outer: object, watch: (dispatcher: HookDispatcher) => void = () => {}) {
      const both = await pair()
      using tracing = traced()
      const { dispatcher } = tracing
      watch(dispatcher)
      observeMcpClient(both.client, { dispatcher })
      observeMcpServer(both.server, { dispatcher })
      const init = {
        toolCallId: '1',
        source: 'mcp' as const,
        identifier: 'mine',
        apiName: 'mcp_shop__search',
      }
      const op = dispatcher.startOperation({ agentName: 'support' })
      await op.step((step) =>
        step.toolCall({ ...init, args: { q: 'bags' }, ...outer }, () => both.client.callTool(search)),
      )
      await op.complete()
      await both.client.close()
      expect(both.live).toHaveBeenCalledOnce()
      return tracing
        .tree()
        .split('\n')
        .map((line) => line.trim())
    }
    const names = (spans: readonly string[]) => spans.filter((name) => name !== 'step 0')
    const SERVER = ['invoke_agent shop', 'execute_tool search']

    it('is that call, with what the server does below it', async () => {
      const spans = await asking({})
      expect(names(spans)).toEqual(['invoke_agent support', 'execute_tool mcp_shop__search', ...SERVER])
    })

    it.each([
      ['other arguments', { args: { q: 'bags', more: true } }],
      ['a tool of another name', { apiName: 'find' }],
      ['a tool that is not said to be of MCP', { source: 'local' }],
      ['a call that no model has asked for', { toolCallId: undefined }],
    ])('is a call of its own inside of %s', async (_name, outer) => {
      const spans = await asking(outer)
      expect(names(spans).slice(2)).toEqual(['execute_tool search', ...SERVER])
    })

    it('is decided on by its own name, too', async () => {
      const decided: unknown[] = []
      const gate = {
        id: 'sees',
        point: 'beforeToolCall' as const,
        decide: ({ identifier, apiName }: { identifier: string; apiName: string }) => {
          decided.push(`${identifier}/${apiName}`)
          return { decision: 'proceed' as const }
        },
      }
      await asking({}, (dispatcher) => void dispatcher.use({ name: 'sees', gates: [gate as never] }))
      expect(decided.slice(0, 2)).toEqual(['mine/mcp_shop__search', 'shop/search'])
      decided.length = 0
      await asking(
        { identifier: 'shop', apiName: 'search' },
        (dispatcher) => void dispatcher.use({ name: 'sees', gates: [gate as never] }),
      )
      // The second is that of the server.
      expect(decided).toEqual(['shop/search', 'shop/search'])
    })
  })

  it('has calls where the code runs, else in an operation of their own, under the name of the server', async () => {
    const both = await pair()
    const { dispatcher, tree } = tracked()
    const homes: (readonly unknown[])[] = []
    const handler = ({ source, identifier, apiName, args, success }: HookEvent<'afterToolCall'>) =>
      void homes.push([source, identifier, apiName, args, success])
    dispatcher.use({ name: 'homes', hooks: [{ id: 'home', type: 'afterToolCall', handler }] })
    const client = observeMcpClient(both.client, { dispatcher, agentName: 'alone' })
    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(() => client.callTool(search))
    await op.complete()
    await client.readResource({ uri: 'shop://stock' })
    observeMcpClient(client, { dispatcher, serverName: 'cellar', agentName: 'alone' })
    await client.getPrompt({ name: 'sell', arguments: { what: 'bags' } })
    await call(both, 'fails')
    expect(tree.lines()).toEqual([
      'invoke_agent mine',
      '  step 0',
      '    execute_tool search',
      ...['resources/read', 'prompts/get', 'fails'].flatMap((name) => [
        'invoke_agent alone',
        `  execute_tool ${name}${name === 'fails' ? ' (error)' : ''}`,
      ]),
    ])
    expect(homes).toEqual([
      ['mcp', 'shop', 'search', { q: 'bags' }, true],
      ['mcp', 'shop', 'resources/read', { uri: 'shop://stock' }, true],
      ['mcp', 'cellar', 'prompts/get', { name: 'sell', arguments: { what: 'bags' } }, true],
    ])
  })

  it('is one trace over both sides', async () => {
    using setup = traced()
    const { dispatcher } = setup
    const { client, server } = await pair()
    observeMcpClient(client, { dispatcher, agentName: 'buyer' })
    observeMcpServer(server, { dispatcher })
    await client.callTool(search)
    expect(setup.tree().split('\n')).toEqual([
      'invoke_agent buyer',
      '  execute_tool search',
      '    invoke_agent shop',
      '      execute_tool search',
    ])
    expect(new Set(setup.spans().map((span) => span.spanContext().traceId)).size).toBe(1)
    const meta = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
    unobserveMcpClient(client)
    await client.callTool({ ...search, _meta: meta })
    expect(setup.spans().at(-1)?.spanContext().traceId).toBe('a'.repeat(32))
  })

  it('takes mocks, policies and humans as they are, on the side of the client', async () => {
    const both = await pair()
    const { dispatcher } = tracked()
    observeMcpClient(both.client, { dispatcher })
    using mocks = mockTools(dispatcher, [mock('count').returns({ bags: 7 })], { onUnmocked: 'passthrough' })
    using humans = scriptedApprovals(dispatcher, [human('fails').rejects('not today')])
    const gates = [
      toolPolicy({ deny: ['search', 'resources/*', 'prompts/*'] }),
      requireHuman({ match: 'fails' }),
    ]
    dispatcher.use({ name: 'careful', gates })
    expect(await call(both, 'count')).toEqual({
      content: [{ type: 'text', text: '{"bags":7}' }],
      structuredContent: { bags: 7 },
    })
    expect(await call(both, 'search')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('tool_not_allowed') }],
    })
    expect(await call(both, 'fails')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('not today') }],
    })
    expect(await request(both, 'search')).toMatchObject({ isError: true })
    const refused = { code: 'CALL_DENIED' }
    await expect(both.client.readResource({ uri: 'shop://stock' })).rejects.toMatchObject(refused)
    await expect(both.client.getPrompt({ name: 'sell' })).rejects.toMatchObject(refused)
    expect(both.live).not.toHaveBeenCalled()
    mocks.assertUsed()
    humans.assertUsed()
  })

  it('tells a mock that has a content of its own, and is no result of a server', async () => {
    const both = await pair()
    const { dispatcher } = tracked()
    observeMcpClient(both.client, { dispatcher })
    const page = { title: 'Oslo', content: ['first', 'second'] }
    using _mocks = mockTools(dispatcher, [mock('count').returns(page)])
    expect(await call(both, 'count')).toEqual({
      content: [{ type: 'text', text: JSON.stringify(page) }],
      structuredContent: page,
    })
  })

  it.each(['client', 'server'] as const)(
    'holds mocks to the schemas that the %s has listed',
    async (side) => {
      const both = await pair()
      const { dispatcher } = tracked()
      if (side === 'client') observeMcpClient(both.client, { dispatcher })
      else observeMcpServer(both.server, { dispatcher })
      const bare = await pair()
      expect(await both.client.listTools()).toEqual(await bare.client.listTools())
      const asked = { name: 'count', arguments: { q: 'bags' } }
      const given = async (result: unknown, params: object = asked) => {
        const mocks = mockTools(dispatcher, [mock('count').returns(result)])
        const told = await both.client.callTool(params as typeof asked).catch((error: unknown) => error)
        mocks.detach()
        return told
      }
      const three = { ...text('3'), structuredContent: { bags: 3 } }
      expect(await given({ bags: 3 })).toMatchObject({ structuredContent: { bags: 3 } })
      expect(await given(three)).toEqual(three)
      const failed = { ...text('the shelf fell down'), isError: true }
      expect(await given(failed)).toEqual(failed)
      const refused = (which: string) => ({
        isError: true,
        content: [{ text: expect.stringContaining(which) }],
      })
      const misfit = refused('output schema')
      expect(await given({ bags: 'three' })).toMatchObject(misfit)
      expect(await given({ ...three, structuredContent: { bags: 'three' } })).toMatchObject(misfit)
      expect(await given(text('3'))).toMatchObject(misfit)
      expect(await given('3')).toMatchObject(misfit)
      expect(await given({ bags: 3 }, { name: 'count', arguments: {} })).toMatchObject(
        refused('input schema'),
      )
    },
  )

  it.each(['client', 'server'] as const)(
    'ends a mock that hangs at the %s as the page says',
    async (side) => {
      const both = await pair()
      const { dispatcher } = tracked()
      if (side === 'client') observeMcpClient(both.client, { dispatcher })
      else observeMcpServer(both.server, { dispatcher })
      mockTools(dispatcher, [mock('search').hangs()])
      const controller = new AbortController()
      const asked = call(both, 'search', { timeout: 20, signal: controller.signal })
      if (side === 'server') return expect(asked).rejects.toThrow('timed out')
      await new Promise((resolve) => setTimeout(resolve, 60))
      const reason = new Error('enough')
      controller.abort(reason)
      await expect(asked).rejects.toBe(reason)
    },
  )

  it('asks nobody about what a tool says of its failure, as the page says', async () => {
    const both = await pair()
    const { dispatcher } = tracked()
    observeMcpServer(both.server, { dispatcher })
    dispatcher.use({ name: 'discreet', gates: [redact({ patterns: { word: 'bags' } })] })
    expect(await call(both, 'search')).toMatchObject({
      content: [{ text: expect.stringContaining('[word]') }],
    })
    expect(await call(both, 'fails')).toMatchObject({ isError: true, content: [{ text: 'no bags' }] })
  })

  it('takes them on the side of the server, too', async () => {
    const both = await pair()
    const { dispatcher } = tracked()
    observeMcpServer(both.server, { dispatcher })
    const change = {
      id: 'change',
      point: 'beforeToolCall',
      match: 'search',
      decide: () => mutate({ q: 'purses' }),
    }
    const rewrite = {
      id: 'rewrite',
      point: 'afterToolCall',
      match: 'search',
      decide: () => mutate('rewritten'),
    }
    dispatcher.use({
      name: 'gates',
      gates: [change as never, rewrite as never, toolPolicy({ deny: ['fails', 'resources/*'] })],
    })
    expect(await call(both, 'search')).toEqual(text('rewritten'))
    expect(both.live).toHaveBeenCalledWith({ q: 'purses' }, expect.anything())
    expect(await call(both, 'fails')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('tool_not_allowed') }],
    })
    await expect(both.client.readResource({ uri: 'shop://stock' })).rejects.toThrow(/refused/)
    expect(await both.client.getPrompt({ name: 'sell', arguments: { what: 'x' } })).toMatchObject({
      messages: [{ content: { text: 'Sell x.' } }],
    })
  })

  it.each(['client', 'server'] as const)(
    'tells an elicitation as a question to a human, and sampling as a model call, seen from the %s',
    async (side) => {
      const both = await pair()
      const { dispatcher, tree } = tracked()
      const answers: unknown[] = []
      dispatcher.use({
        name: 'answers',
        hooks: [
          {
            id: 'human',
            type: 'afterHumanIntervention',
            handler: ({ action }) => void answers.push(action),
          },
          {
            id: 'model',
            type: 'afterLlmCall',
            handler: ({ provider, response }) =>
              void answers.push([provider, response.model, response.content, response.finishReasons]),
          },
        ],
      })
      if (side === 'client') observeMcpClient(both.client, { dispatcher, agentName: 'shop' })
      else observeMcpServer(both.server, { dispatcher })
      expect(await call(both, 'asks')).toEqual(text('decline'))
      expect(await call(both, 'thinks')).toEqual(text('a thought'))
      expect(tree.lines()).toEqual([
        'invoke_agent shop',
        '  execute_tool asks',
        '    human',
        'invoke_agent shop',
        '  execute_tool thinks',
        '    chat unknown',
      ])
      expect(answers).toEqual(['reject', ['mcp', 'small-model', 'a thought', ['endTurn']]])
    },
  )

  it('sends the trace along with what the server asks', async () => {
    using setup = traced()
    const { client, server, asked } = await pair()
    observeMcpServer(server, { dispatcher: setup.dispatcher })
    await client.callTool({ name: 'asks', arguments: { q: 'x' } })
    const { traceId, spanId } = setup.span('execute_tool asks').spanContext()
    expect(asked).toMatchObject([{ _meta: { traceparent: `00-${traceId}-${spanId}-01` } }])
  })

  it('tells the calls of a reply to a server that offers tools, and keeps them where a gate changes its text', async () => {
    const both = await pair()
    const { dispatcher } = tracked()
    const seen: unknown[] = []
    const handler = ({ response }: HookEvent<'afterLlmCall'>) => void seen.push(response.toolCalls)
    const shorter = {
      id: 'shorter',
      point: 'afterLlmCall' as const,
      decide: ({ payload }: { payload: object }) => mutate({ ...payload, content: 'shorter' }),
    }
    dispatcher.use({
      name: 'shorter',
      gates: [shorter as never],
      hooks: [{ id: 'seen', type: 'afterLlmCall', handler }],
    })
    observeMcpClient(both.client, { dispatcher })
    const { content } = (await call(both, 'plans')) as { content: [{ text: string }] }
    expect(JSON.parse(content[0].text)).toMatchObject({
      model: 'small-model',
      stopReason: 'endTurn',
      content: [
        { type: 'text', text: 'shorter' },
        { type: 'tool_use', id: 'u', name: 'weigh', input: { kg: 1 } },
      ],
    })
    expect(seen).toEqual([[{ toolCallId: 'u', apiName: 'weigh', args: { kg: 1 } }]])
  })

  it('lets a gate refuse or answer what a server asks of the model', async () => {
    const both = await pair()
    const { dispatcher } = tracked()
    observeMcpClient(both.client, { dispatcher })
    const gate = { id: 'no', point: 'beforeLlmCall', decide: () => deny('no thoughts') } as const
    dispatcher.use({ name: 'no', gates: [gate] })
    expect(await call(both, 'thinks')).toEqual(text('no thoughts'))
    expect(both.asked).toEqual([])
  })

  it.each([
    [{ max_tokens: 5 }, 'Say `maxTokens`'],
    [{ model: 'cheaper' }, 'Say `modelPreferences'],
    [{ temperature: 0, maxTokens: 5 }, undefined],
  ])('a gate sets of what a server asks the model what is sent, or it is refused: %j', async (set, mend) => {
    const both = await pair()
    const { dispatcher } = tracked()
    observeMcpClient(both.client, { dispatcher })
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(set) }] })
    const answer = JSON.stringify(await call(both, 'thinks'))
    if (mend === undefined) expect(both.asked).toMatchObject([set])
    else expect([answer, both.asked]).toEqual([expect.stringContaining(mend), []])
  })

  it("keeps the user's storage and trace in its tools, and ends a call with its run", async () => {
    using setup = traced()
    const { client, server } = await pair()
    const storage = new AsyncLocalStorage<string>()
    server.registerTool('looks', {}, async () => {
      await new Promise((resolve) => setImmediate(resolve))
      setup.tracer.startSpan('SELECT bags').end()
      return text(String(storage.getStore()))
    })
    observeMcpClient(client, { dispatcher: setup.dispatcher, agentName: 'shop' })
    expect(await storage.run('mine', () => client.callTool({ name: 'looks' }))).toEqual(text('mine'))
    expect(setup.tree().split('\n')).toEqual(['invoke_agent shop', '  execute_tool looks', '    SELECT bags'])
    const controller = new AbortController()
    const op = setup.dispatcher.startOperation({ signal: controller.signal })
    const hanging = op.run(() => client.callTool({ name: 'hangs', arguments: { q: 'x' } }))
    setImmediate(() => controller.abort(new Error('enough')))
    await expect(hanging).rejects.toThrow('enough')
    await op.complete({ reason: 'interrupted' })
  })

  it('that its caller aborts is interrupted, where it is a run of its own', async () => {
    const { client } = await pair()
    const { dispatcher, events } = dispatcherWith()
    observeMcpClient(client, { dispatcher })
    const signal = AbortSignal.timeout(20)
    const how = version === '1' ? [undefined, { signal }] : [{ signal }]
    const call = client.callTool as (...args: unknown[]) => Promise<unknown>
    await expect(call({ name: 'hangs', arguments: { q: 'x' } }, ...how)).rejects.toThrow()
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
  })

  it('that its caller aborts while a human is asked ends there, and the human is not asked any more', async () => {
    const both = await pair()
    const { dispatcher, tree } = tracked()
    const approvals = createApprovals({ store: memoryStore() })
    dispatcher.use(approvals)
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'search' })] })
    observeMcpClient(both.client, { dispatcher, agentName: 'shop' })
    const controller = new AbortController()
    const pending = call(both, 'search', { signal: controller.signal })
    const open = async () => (await approvals.list({ status: 'pending' })).length
    await expect.poll(open).toBe(1)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(pending).rejects.toBe(reason)
    expect(both.live).not.toHaveBeenCalled()
    await expect.poll(open).toBe(0)
    expect(tree.roots[0]?.ends).toMatchObject([{ reason: 'interrupted' }])
    await expect(call(both, 'search', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(both.live).not.toHaveBeenCalled()
    await both.client.close()
    await expect.poll(() => dispatcher.stats().operations).toBe(0)
  })

  it.each(['client', 'server'] as const)(
    'ends while a human is asked when the %s closes the connection',
    async (side) => {
      const both = await pair()
      const sent = call(both, 'hangs').catch((error: unknown) => error)
      await new Promise((resolve) => setImmediate(resolve))
      const { dispatcher, tree } = tracked()
      const approvals = createApprovals({ store: memoryStore() })
      dispatcher.use(approvals)
      dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'search' })] })
      observeMcpClient(both.client, { dispatcher, agentName: 'shop' })
      const waiting = call(both, 'search').catch((error: unknown) => error)
      const open = async () => (await approvals.list({ status: 'pending' })).length
      await expect.poll(open).toBe(1)
      await both[side].close()
      const error = await sent
      expect(error).toMatchObject({ message: expect.stringContaining('Connection closed') })
      expect(await waiting).toEqual(error)
      expect((await waiting)?.constructor).toBe(error?.constructor)
      await expect.poll(open).toBe(0)
      expect(both.live).not.toHaveBeenCalled()
      expect(tree.lines()).toEqual([
        'invoke_agent shop (error)',
        '  execute_tool search (error)',
        '    human (error)',
      ])
      await expect.poll(() => dispatcher.stats().operations).toBe(0)
    },
  )

  it('that its caller gives up while a human is asked at the server is interrupted there', async () => {
    const both = await pair()
    const { dispatcher, events } = dispatcherWith()
    dispatcher.use(createApprovals({ store: memoryStore() }))
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'search' })] })
    observeMcpServer(both.server, { dispatcher })
    await expect(call(both, 'search', { timeout: 20 })).rejects.toThrow()
    await expect.poll(() => findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
    expect(both.live).not.toHaveBeenCalled()
  })

  it('refuses to let a call wait for a human in another process', async () => {
    const { client, live } = await pair()
    expect(MCP_CAPABILITIES.park).toBe(false)
    const { dispatcher } = tracked()
    observeMcpClient(client, { dispatcher })
    dispatcher.use({
      name: 'parking',
      gates: [requireHuman()],
      approver: { requestApproval: async () => ({ decision: 'park' }) },
    })
    const op = dispatcher.startOperation({})
    await expect(op.run(() => client.callTool(search))).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    expect(live).not.toHaveBeenCalled()
    await op.complete()
  })

  it('is observed once, and is left as it was', async () => {
    const { client, server } = await pair()
    const bare = await pair()
    const { dispatcher, tree } = tracked()
    for (let i = 0; i < 2; i++) {
      expect(observeMcpClient(client, { dispatcher, agentName: 'once' })).toBe(client)
      expect(observeMcpServer(server, { dispatcher })).toBe(server)
      expect(observeMcpServer(server.server, { dispatcher })).toBe(server.server)
    }
    await client.callTool(search)
    const asked = { method: 'tools/call', params: search } as const
    const schema = version === '1' ? [CallToolResultSchema as never] : []
    await client.request(asked, ...schema)
    const one = ['invoke_agent once', '  execute_tool search', 'invoke_agent shop', '  execute_tool search']
    const both = [...one, ...one]
    expect(tree.lines()).toEqual(both)
    expect(() => observeMcpClient(client, { dispatcher: new HookDispatcher() })).toThrow(/another dispatcher/)
    expect(unobserveMcpClient(client)).toBe(client)
    expect(unobserveMcpServer(server)).toBe(server)
    expect(Reflect.ownKeys(client)).toEqual(Reflect.ownKeys(bare.client))
    expect(Reflect.ownKeys(server.server)).toEqual(Reflect.ownKeys(bare.server.server))
    await client.callTool(search)
    expect(tree.lines()).toEqual(both)
  })
})

it('works with both versions in one process', async () => {
  const { dispatcher, tree } = tracked()
  await Promise.all(
    Object.values(SDKS).map(async ({ Client, McpServer, InMemoryTransport }, index) => {
      const server = new McpServer({ name: `shop-${index}`, version: '1.0.0' })
      server.registerTool('search', {}, async () => text('found'))
      const client = new Client({ name: 'test', version: '1.0.0' })
      const [left, right] = InMemoryTransport.createLinkedPair()
      await Promise.all([server.connect(left), client.connect(right)])
      observeMcpClient(client, { dispatcher, agentName: 'both' })
      await client.callTool({ name: 'search' })
    }),
  )
  expect(tree.lines().sort()).toEqual([
    ...Array(2).fill('  execute_tool search'),
    ...Array(2).fill('invoke_agent both'),
  ])
})

it('tells the trace and the questions of a server in another process', async () => {
  using setup = traced()
  const file = fileURLToPath(new URL('processes/mcp-server.ts', import.meta.url))
  const client = new Client1(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } } },
  )
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: {} }))
  observeMcpClient(client, { dispatcher: setup.dispatcher, agentName: 'buyer' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [file] }))
  const { content } = (await client.callTool({ name: 'search' })) as { content: { text: string }[] }
  await client.close()
  const { traceId, spanId } = setup.span('execute_tool search').spanContext()
  expect(JSON.parse(content[0]?.text ?? '')).toEqual({
    traceparent: `00-${traceId}-${spanId}-01`,
    observed: true,
    action: 'accept',
  })
  expect(setup.tree().split('\n')).toEqual([
    'invoke_agent buyer',
    '  execute_tool search',
    '    human_intervention',
  ])
})

it('is refused where it is nothing of MCP, and with options that there are not', () => {
  const { dispatcher } = tracked()
  const attachClient = observeMcpClient as (client: unknown, options: unknown) => unknown
  const attachServer = observeMcpServer as (server: unknown, options: unknown) => unknown
  expect(() => attachClient(undefined, { dispatcher })).toThrow(/observeMcpClient.*@modelcontextprotocol/)
  expect(() => attachServer(null, { dispatcher })).toThrow(/observeMcpServer.*McpServer/)
  expect(() => attachClient({}, {})).toThrow(/observeMcpClient needs a `dispatcher`/)
  expect(() => attachClient({}, { dispatcher, server: 'x' })).toThrow(/server.*serverName/s)
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const strange = { setRequestHandler() {} }
  expect(attachServer(strange, { dispatcher })).toBe(strange)
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('where this version of the MCP SDK keeps'))
})

it('says what to do with a server that makes those of the SDK by itself, one for each connection', () => {
  const { dispatcher } = tracked()
  // As those of @mastra/mcp and of mcp-use are known by.
  for (const server of [
    { startHTTP() {}, startStdio() {} },
    { tool() {}, listen() {}, fetch() {} },
  ]) {
    expect(() => observeMcpServer(server, { dispatcher })).toThrow(/wrapTools\(\)/)
  }
})
