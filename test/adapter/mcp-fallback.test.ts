import type { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js'
import { Server as Server2 } from '@modelcontextprotocol/server'
import { HookDispatcher } from 'hookspan'
import { deny } from 'hookspan/gates'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { activityTree } from '../support/activity-tree.ts'
import { traced } from '../support/span-tree.ts'
import { SDKS } from './subjects/mcp.ts'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const wipe = { name: 'wipe', arguments: {} }

describe.each(['1', '2'] as const)('what answers where there is no handler, version %s', (version) => {
  const { InMemoryTransport } = SDKS[version]
  const Server = version === '1' ? (Server1 as unknown as typeof Server2) : Server2
  const Client = SDKS[version].Client as unknown as typeof Client1

  /** A server that hands all on to somebody else. */
  async function connected(
    dispatcher: HookDispatcher,
    ran: string[],
    name = 'proxy',
    answer: (params: unknown) => unknown = () => text('wiped'),
  ) {
    const server = new Server({ name, version: '1.0.0' }, { capabilities: { tools: {} } })
    observeMcpServer(server, { dispatcher })
    server.fallbackRequestHandler = async ({ method, params }) => {
      ran.push(`${method} ${(params as { name?: string } | undefined)?.name ?? ''}`)
      return (method === 'tools/list' ? { tools: [] } : await answer(params)) as ReturnType<typeof text>
    }
    const client = new Client({ name: 'test', version: '1.0.0' })
    const [left, right] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(left), client.connect(right as never)])
    return client
  }

  it('is a tool call at the server, and all else is left alone', async () => {
    const ran: string[] = []
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    const client = await connected(dispatcher, ran)
    expect(await client.listTools()).toMatchObject({ tools: [] })
    expect(await client.callTool(wipe)).toMatchObject(text('wiped'))
    expect(ran).toEqual(['tools/list ', 'tools/call wipe'])
    expect(tree.lines()).toEqual(['invoke_agent proxy', '  execute_tool wipe'])
    await client.close()
  })

  it('is held by gates and mocks', async () => {
    for (const isMocked of [false, true]) {
      const ran: string[] = []
      const dispatcher = new HookDispatcher()
      if (isMocked) mockTools(dispatcher).use(mock('wipe').returns('mocked'))
      else dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
      const client = await connected(dispatcher, ran)
      const { content } = (await client.callTool(wipe)) as { content: { text: string }[] }
      expect(content[0]?.text).toMatch(isMocked ? 'mocked' : 'tool_not_allowed')
      expect(ran).toEqual([])
      await client.close()
    }
  })

  it('goes on in the trace from server to server, where the request is handed on as it came', async () => {
    using setup = traced()
    const { dispatcher } = setup
    const shop = await connected(dispatcher, [], 'shop')
    observeMcpClient(shop, { dispatcher })
    const client = await connected(dispatcher, [], 'proxy', (params) => shop.callTool(params as never))
    observeMcpClient(client, { dispatcher, agentName: 'buyer' })
    expect(await client.callTool(wipe)).toMatchObject(text('wiped'))
    const names = ['invoke_agent buyer', 'execute_tool wipe', 'invoke_agent proxy', 'execute_tool wipe']
    expect(setup.tree().split('\n')).toEqual(
      [...names, 'execute_tool wipe', 'invoke_agent shop', 'execute_tool wipe'].map(
        (name, depth) => '  '.repeat(depth) + name,
      ),
    )
    await Promise.all([client.close(), shop.close()])
  })

  it('is a model call at the client', async () => {
    const asked: string[] = []
    const server = new Server({ name: 'shop', version: '1.0.0' }, { capabilities: { tools: {} } })
    const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { sampling: {} } })
    client.fallbackRequestHandler = async ({ method }) => {
      asked.push(method)
      return { model: 'm', role: 'assistant', content: { type: 'text', text: 'hi' } }
    }
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'careful',
      gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('not here') }],
    })
    observeMcpClient(client, { dispatcher })
    const [left, right] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(left), client.connect(right as never)])
    const reply = await server.createMessage({ messages: [], maxTokens: 1 })
    expect(reply.content).toEqual({ type: 'text', text: 'not here' })
    expect(asked).toEqual([])
    await client.close()
  })
})
