import { type MCPServer, RunState } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import type { Approver } from 'hookspan/gates'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it } from 'vitest'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, observed, scripted } from './support.ts'

afterEach(letAllGo)

/** What `MCPServerStdio` and `MCPServerStreamableHttp` are to the SDK. Notes what it is asked. */
function serverOf(name: string, asked: string[], tools: readonly string[] = [name.at(0) ?? '']): MCPServer {
  return {
    name,
    cacheToolsList: false,
    connect: async () => {},
    close: async () => {},
    invalidateToolsCache: async () => {},
    listTools: async () => {
      const properties = { id: { type: 'number' } }
      const inputSchema = { type: 'object' as const, properties, required: [], additionalProperties: false }
      return tools.map((tool) => ({ name: tool, inputSchema }))
    },
    callTool: async (tool) => {
      asked.push(`${name}/${tool}`)
      return [{ type: 'text', text: `${tool} of ${name}` }]
    },
  }
}

const CALLS: [string, object][] = [
  ['o', { id: 7 }],
  ['s', { id: 7 }],
]

describe('an agent with the tools of several MCP servers', () => {
  it('has each at home in its own, by which a gate knows it', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['stock/*'] })] })
    const events = eventsOf(dispatcher)
    const asked: string[] = []
    const mcpServers = [serverOf('orders', asked), serverOf('stock', asked)]

    await observed(bareRunner(), { dispatcher }).run(
      agentOf({ model: scripted(CALLS, 'done'), mcpServers }),
      'hi',
    )

    expect(asked).toEqual(['orders/o'])
    const called = findAll(events, 'afterToolCall').toSorted((a, b) => a.apiName.localeCompare(b.apiName))
    expect(called).toMatchObject([
      { source: 'mcp', identifier: 'orders', apiName: 'o', success: true },
      { source: 'mcp', identifier: 'stock', apiName: 's', success: false },
    ])
  })

  it('whose tools have their servers in their names, has them at home there, too', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['stock/*'] })] })
    const asked: string[] = []
    const names: [string, object][] = [
      ['mcp_orders__look', {}],
      ['mcp_stock__look', {}],
    ]
    const agent = agentOf({
      model: scripted(names, 'done'),
      mcpServers: [serverOf('orders', asked, ['look']), serverOf('stock', asked, ['look'])],
      mcpConfig: { includeServerInToolNames: true },
    })

    await observed(bareRunner(), { dispatcher }).run(agent, 'hi')

    expect(asked).toEqual(['orders/look'])
  })

  it.each(['callTool', 'callToolResult'])('is told as failed where its server says so: %s', async (how) => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const content = Object.assign([{ type: 'text' as const, text: 'no such order' }], { isError: true })
    const server = serverOf('orders', [])
    if (how === 'callTool') server.callTool = async () => content
    else
      Object.assign(server, {
        useStructuredContent: true,
        callToolResult: async () => ({ content, isError: true }),
      })
    const model = scripted([['o', {}]], 'done')

    await observed(bareRunner(), { dispatcher }).run(agentOf({ model, mcpServers: [server] }), 'hi')

    expect(findAll(events, 'onToolCallError')).toMatchObject([{ errorMessage: 'no such order' }])
    expect(model.lastCall?.request.input.at(-1)).toMatchObject({ output: [{ text: 'no such order' }] })
  })

  it('tells no key that is in the address of a server', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const mcpServers = [serverOf('streamable-http: https://mcp.example/v1?key=secret', [], ['o'])]
    const model = scripted([['o', {}]], 'done')

    await observed(bareRunner(), { dispatcher }).run(agentOf({ model, mcpServers }), 'hi')

    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { source: 'mcp', identifier: 'streamable-http: https://mcp.example/v1' },
    ])
  })
})

describe('a call of such a tool that waits for a human', () => {
  const processOf = (answer: 'approve' | 'park') => {
    const dispatcher = new HookDispatcher()
    const approver: Approver = {
      requestApproval: async () =>
        answer === 'approve' ? { decision: 'approve', approver: 'ines' } : { decision: 'park' },
    }
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 's' })], approver })
    return observed(bareRunner(), { dispatcher })
  }
  const parked = async () => {
    const mcpServers = [serverOf('orders', []), serverOf('stock', [])]
    const agent = agentOf({ model: scripted([['s', { id: 7 }]]), mcpServers })
    const { state, interruptions } = await processOf('park').run(agent, 'hi')
    expect(interruptions).toHaveLength(1)
    letAllGo()
    return state.toString()
  }

  it('is made by the server that it was asked of', async () => {
    const saved = await parked()
    const asked: string[] = []
    const mcpServers = [serverOf('orders', asked), serverOf('stock', asked)]
    const agent = agentOf({ model: scripted('done'), mcpServers })

    const { finalOutput } = await processOf('approve').run(agent, await RunState.fromString(agent, saved))

    expect([finalOutput, asked]).toEqual(['done', ['stock/s']])
  })

  it('is refused by the SDK where another server has the tool now', async () => {
    const saved = await parked()
    const asked: string[] = []
    const mcpServers = [serverOf('orders', asked, ['s']), serverOf('stock', asked, ['o'])]
    const agent = agentOf({ model: scripted('done'), mcpServers })
    const state = await RunState.fromString(agent, saved)

    await expect(processOf('approve').run(agent, state)).rejects.toThrow(/MCP recipient binding/)

    expect(asked).toEqual([])
  })
})
