/** An observed MCP server of its own process, over stdin and stdout, that tells the trace it is called in. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { HookDispatcher } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { observeMcpServer } from 'hookspan/mcp'

const dispatcher = new HookDispatcher()
const server = new McpServer({ name: 'shop', version: '1.0.0' })
server.registerTool('search', {}, async (extra) => {
  const requestedSchema = { type: 'object' as const, properties: {} }
  const { action } = await server.server.elicitInput({ message: 'Look in the cellar, too?', requestedSchema })
  const told = {
    traceparent: extra._meta?.traceparent,
    observed: currentCalls() !== undefined,
    action,
  }
  return { content: [{ type: 'text', text: JSON.stringify(told) }] }
})
observeMcpServer(server, { dispatcher })
await server.connect(new StdioServerTransport())
