import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { DynamicStructuredTool } from '@langchain/core/tools'
import { Command, MemorySaver } from '@langchain/langgraph'
import type { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { type Gate, mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { observeMcpClient, unobserveMcpClient } from 'hookspan/mcp'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { createAgent } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, findAll } from '../support/told-events.ts'
import { SDKS } from './subjects/mcp.ts'

const { Client, McpServer, InMemoryTransport } = SDKS['1']

/** A server with one tool, and what the calls of it were. */
async function shop(name: string) {
  const ran: number[] = []
  const server = new McpServer({ name, version: '1.0.0' })
  server.registerTool(
    'refund',
    { description: 'Pays back.', inputSchema: { id: z.number() } as never },
    (async ({ id }: { id: number }) => {
      ran.push(id)
      return { content: [{ type: 'text', text: `paid back ${id}` }] }
    }) as never,
  )
  const client = new Client({ name: 'test', version: '1.0.0' })
  const [one, other] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(other as never), client.connect(one as never)])
  return { client, ran }
}

type McpClient = Awaited<ReturnType<typeof shop>>['client']

/** As `@langchain/mcp-adapters` makes them. */
async function toolsOf(client: McpClient, prefix = ''): Promise<DynamicStructuredTool[]> {
  const { tools } = await client.listTools()
  return tools.map(
    ({ name, description = '', inputSchema, annotations }) =>
      new DynamicStructuredTool({
        name: `${prefix}${name}`,
        description,
        schema: inputSchema as never,
        responseFormat: 'content_and_artifact',
        metadata: { annotations },
        func: async (args) => {
          const { content } = await client.callTool({ name, arguments: args as never })
          return [(content as { text: string }[])[0]?.text, []]
        },
      }) as never,
  )
}

const asks = (name: string) =>
  fakeModel()
    .respondWithTools([{ name, args: { id: 7 }, id: 'c1' }])
    .respond(new AIMessage('done'))
const hi = { messages: [new HumanMessage('hi')] }
const config = { configurable: { thread_id: 't' } }

function agentOf(dispatcher: HookDispatcher, tools: DynamicStructuredTool[], name = 'refund') {
  const middleware = [hookspanMiddleware({ dispatcher })]
  return createAgent({ model: asks(name), tools, middleware, checkpointer: new MemorySaver() })
}

async function calledOf(gates: Gate[] = [], prefix = '') {
  const { dispatcher, events } = dispatcherWith(...gates)
  const { client, ran } = await shop('shop')
  observeMcpClient(client, { dispatcher })
  await agentOf(dispatcher, await toolsOf(client, prefix), `${prefix}refund`).invoke(hi, config)
  await dispatcher.drain()
  return { ran, calls: findAll(events, 'afterToolCall') }
}

describe('a tool of an MCP server in an agent of LangChain, whose client is observed, too', () => {
  it('is one call, of that server', async () => {
    const { ran, calls } = await calledOf()
    expect(ran).toEqual([7])
    const call = { apiName: 'refund', identifier: 'shop', source: 'mcp', toolCallId: 'c1' }
    expect(calls).toMatchObject([{ ...call, content: 'paid back 7' }])
  })

  it('is one that gates decide on once, by the name of the server, too', async () => {
    const next = { id: 'next', point: 'beforeToolCall' as const }
    const changed = await calledOf([
      { ...next, decide: ({ payload }) => mutate({ id: (payload as { id: number }).id + 1 }) },
    ])
    expect(changed.ran).toEqual([8])
    const denied = await calledOf([toolPolicy({ deny: ['shop/*'] })])
    expect(denied.ran).toEqual([])
    expect(denied.calls).toMatchObject([{ success: false, code: 'tool_not_allowed' }])
  })

  it('has its server where something stands before its name, and is decided on by either name', async () => {
    const { calls } = await calledOf([], 'shop__')
    expect(calls).toMatchObject([{ apiName: 'shop__refund', identifier: 'shop' }])
    const denied = await calledOf([toolPolicy({ deny: ['refund'] })], 'shop__')
    expect(denied.ran).toEqual([])
  })

  it('can wait for a human in another process, who is asked once', async () => {
    const { dispatcher } = dispatcherWith(requireHuman({ match: 'refund' }))
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    dispatcher.use(approvals)
    const { client, ran } = await shop('shop')
    observeMcpClient(client, { dispatcher })
    const agent = agentOf(dispatcher, await toolsOf(client))
    const [asked] =
      ((await agent.invoke(hi, config)) as { __interrupt__?: { value: object }[] }).__interrupt__ ?? []
    const records = await approvals.list({ status: 'pending' })
    for (const { request } of records) {
      await approvals.respond(request.id, {
        decision: 'approve',
        approver: 'ann',
        argsDigest: request.argsDigest,
      })
    }
    await agent.invoke(new Command({ resume: asked?.value }), config)
    expect(ran).toEqual([7])
    expect(await approvals.list({})).toHaveLength(1)
  })

  it('is one call where its client lists it once more after it is observed, as the page says', async () => {
    const { dispatcher, events } = dispatcherWith()
    const { client } = await shop('shop')
    const tools = await toolsOf(client)
    observeMcpClient(client, { dispatcher })
    await agentOf(dispatcher, tools).invoke(hi, config)
    await client.listTools()
    await agentOf(dispatcher, tools).invoke(hi, config)
    await dispatcher.drain()
    expect(findAll(events, 'afterToolCall').map(({ identifier }) => identifier)).toEqual([
      'shop',
      'local',
      'shop',
    ])
  })

  it('is a local one, with a call of the server in it, where two servers have such a tool', async () => {
    const { dispatcher, events } = dispatcherWith()
    const [one, other] = [await shop('one'), await shop('other')]
    observeMcpClient(one.client, { dispatcher })
    observeMcpClient(other.client, { dispatcher })
    await other.client.listTools()
    const tools = await toolsOf(one.client)
    await agentOf(dispatcher, tools).invoke(hi, config)
    unobserveMcpClient(other.client)
    await agentOf(dispatcher, tools).invoke(hi, config)
    await dispatcher.drain()
    expect(findAll(events, 'beforeToolCall').map(({ identifier }) => identifier)).toEqual([
      'local',
      'one',
      'one',
    ])
  })
})
