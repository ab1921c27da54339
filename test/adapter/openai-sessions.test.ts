import { HookDispatcher, type HookEvent } from 'hookspan'
import { mutate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { observeOpenAI, unobserveOpenAI } from 'hookspan/openai'
import { toolPolicy } from 'hookspan/policies'
import OpenAI from 'openai'
import { zodResponsesFunction } from 'openai/helpers/zod'
import { functionTool } from 'openai/lib/beta/agents/function-tool'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'

const NAMES = ['find', 'wipe', 'fail', 'price'] as const

interface Result {
  readonly call_id: string
  readonly success: boolean
  readonly output?: unknown
  readonly error?: string
}

/** A hosted agent that asks for each function in turn. */
function hosted() {
  const results: Result[] = []
  const turn = { id: 'turn_1', subagent_id: null, status: 'completed' }
  const events = [
    { type: 'created', session: { id: 'session_1' } },
    { type: 'turn.created', turn_id: 'turn_1', turn },
    ...NAMES.map((name) => ({
      type: 'turn.item.added',
      turn_id: 'turn_1',
      item: { type: 'function_call', turn_id: 'turn_1', call_id: name, name, arguments: '{"id":7}' },
    })),
    { type: 'turn.completed', turn_id: 'turn_1', turn },
    { type: 'idle' },
  ].map((event, at) => ({
    ...event,
    type: `agent.session.${event.type}`,
    event_id: `event_${at}`,
    session_id: 'session_1',
  }))
  const fetch = async (url: unknown, init?: { method?: string; body?: unknown }) => {
    const sent = typeof init?.body === 'string' ? JSON.parse(init.body) : {}
    if (sent.events?.[0]?.type === 'agent.session.input.tool_result') results.push(sent.events[0])
    if (init?.method === 'POST' && sent.stream !== true) return Response.json({ data: [] })
    if (String(url).endsWith('/session_1')) return Response.json({ id: 'session_1', status: 'idle' })
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  const client = new OpenAI({ apiKey: 'k', fetch: fetch as typeof globalThis.fetch, maxRetries: 0 })
  return { client, results }
}

function handlers(ran: string[] = []) {
  const price = functionTool(
    zodResponsesFunction({
      name: 'price',
      parameters: z.object({ id: z.number() }),
      function: ({ id }) => `price of ${id} ${ran.push('price')}`,
    }),
  )
  return {
    find: (args: Record<string, unknown>) => `found ${JSON.stringify(args)} ${ran.push('find')}`,
    wipe: () => `wiped ${ran.push('wipe')}`,
    fail: () => {
      throw new TypeError('broken')
    },
    price: price.handler,
  }
}

async function drive(client: OpenAI, way: string, ran?: string[]): Promise<string[]> {
  const { sessions } = client.beta.agents
  const toolHandlers = handlers(ran)
  const stream =
    way === 'create'
      ? await sessions.create({ agent: { id: 'agent_1' }, input: 'hi', stream: true, toolHandlers } as never)
      : sessions.stream('session_1', { input: 'hi', toolHandlers })
  const types: string[] = []
  for await (const { type } of stream as AsyncIterable<{ type: string }>) types.push(type)
  return types
}

it.each(['stream', 'create'])(
  'makes functions that a hosted agent has run here tool calls, and shows it the same: %s',
  async (way) => {
    const bare = hosted()
    const expected = await drive(bare.client, way)
    const { client, results } = hosted()
    const dispatcher = new HookDispatcher()
    const tree = activityTree()
    dispatcher.use(tree.plugin)
    observeOpenAI(client, { dispatcher, agentName: 'hosted' })

    expect(await drive(client, way)).toEqual(expected)

    expect(results).toHaveLength(NAMES.length)
    expect(results).toEqual(bare.results)
    const lines = ['find', 'wipe', 'fail (error)', 'price'].map((name) => `  execute_tool ${name}`)
    expect(tree.lines().filter((line) => line.includes('execute_tool'))).toEqual(lines)

    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(() => drive(client, way))
    await op.complete()
    expect(tree.roots.at(-1)?.name).toContain('mine')
    unobserveOpenAI(client)
    const before = tree.all.length
    await drive(client, way)
    expect(tree.all).toHaveLength(before)
  },
)

it('tells the agent the words of a mock, and not the data beside them', async () => {
  const { client, results } = hosted()
  const dispatcher = new HookDispatcher()
  observeOpenAI(client, { dispatcher })
  const handler = (event: HookEvent<'beforeToolCall'>) =>
    event.mock({ content: 'sold out', success: false, data: { left: 0 } })
  dispatcher.use({ name: 'mocks', hooks: [{ id: 'm', type: 'beforeToolCall', match: 'find', handler }] })

  await drive(client, 'stream')

  // Of a function that throws the SDK says nothing but that it did.
  expect(results[0]).toMatchObject({ success: true, output: 'sold out' })
})

it.each(['stream', 'create'])('lets gates and mocks decide on them: %s', async (way) => {
  const { client, results } = hosted()
  const dispatcher = new HookDispatcher()
  observeOpenAI(client, { dispatcher })
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe', 'price'] })] })
  mockTools(dispatcher, [mock('fail').returns('mocked')], { onUnmocked: 'passthrough' })
  const ran: string[] = []

  await drive(client, way, ran)

  expect(ran).toEqual(['find'])
  const denied = { success: true, output: expect.stringContaining('"denied":true') }
  expect(results).toMatchObject([{ success: true }, denied, { success: true, output: 'mocked' }, denied])
})

it('hands a function what an onStart gate made of the input of its run', async () => {
  const { client, results } = hosted()
  const dispatcher = new HookDispatcher()
  observeOpenAI(client, { dispatcher })
  dispatcher.use({
    name: 'gates',
    gates: [{ id: 'first', point: 'onStart', decide: () => mutate({ id: 8 }) }],
  })

  await drive(client, 'stream')

  expect(results[0]).toMatchObject({ output: expect.stringContaining('{"id":8}') })
  expect(results[3]).toMatchObject({ output: expect.stringContaining('price of 8') })
})
