import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { HookDispatcher } from 'hookspan'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { mock, mockTools } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gate } from '../support/told-events.ts'

const SCHEMAS = {
  list: z.array(z.number()),
  count: z.number(),
  name: z.string(),
  one: z.object({ n: z.number() }),
}

/** Since 2026-07-28 what a tool gives may be any JSON. Over HTTP each request has a server of its own. */
describe.each(['client', 'server'] as const)('what stands in for structured content at the %s', (side) => {
  const connected = async () => {
    const dispatcher = new HookDispatcher()
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'shop', version: '1.0.0' })
      for (const [name, outputSchema] of Object.entries(SCHEMAS)) {
        server.registerTool(name, { outputSchema }, async () => ({
          content: [],
          structuredContent: [] as never,
        }))
      }
      return side === 'server' ? observeMcpServer(server, { dispatcher }) : server
    })
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
    const fetch = async (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init))
    await client.connect(new StreamableHTTPClientTransport(new URL('http://shop.example/mcp'), { fetch }))
    if (side === 'client') observeMcpClient(client, { dispatcher })
    await client.listTools()
    return { client, dispatcher }
  }

  it.each([
    ['list', [1, 2], ['a']],
    ['count', 7, 'many'],
    ['name', 'bags', 7],
    ['one', { n: 1 }, [1]],
  ] as const)('of %s is what fits its schema, of a mock', async (name, fits, breaks) => {
    const { client, dispatcher } = await connected()
    const given = async (value: unknown) => {
      const mocks = mockTools(dispatcher, [mock(name).returns(value)])
      const result = await client.callTool({ name }).catch((error: unknown) => error)
      mocks.detach()
      return result
    }
    expect(await given(fits)).toMatchObject({ structuredContent: fits })
    const misfit = [{ text: expect.stringContaining('output schema') }]
    expect(await given(breaks)).toMatchObject({ isError: true, content: misfit })
    await client.close()
  })

  it('is what a gate makes of it', async () => {
    const { client, dispatcher } = await connected()
    dispatcher.use({
      name: 'careful',
      gates: [gate('beforeToolCall', () => ({ decision: 'skip', result: [3] }))],
    })
    expect(await client.callTool({ name: 'list' })).toMatchObject({ structuredContent: [3] })
    await client.close()
  })
})
