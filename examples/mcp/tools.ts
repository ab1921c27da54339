/** A client and a server of MCP, as they are: one line each gives both sides gates, humans, hooks and one trace. */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { HookDispatcher } from 'hookspan'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'

const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ serviceName: 'shop' }))
dispatcher.use({
  name: 'careful',
  gates: [toolPolicy({ deny: ['drop_*'] })],
  hooks: [
    { id: 'run', type: 'onStart', handler: (e) => console.log('run of', e.agentName) },
    { id: 'tools', type: 'afterToolCall', handler: (e) => console.log(e.identifier, e.apiName, e.args) },
  ],
})

const server = new McpServer({ name: 'orders', version: '1.0.0' })
server.registerTool('find_order', { inputSchema: z.object({ id: z.number() }) }, async ({ id }) => ({
  content: [{ type: 'text', text: `order ${id} is shipped` }],
}))
server.registerTool('drop_table', {}, async () => ({ content: [{ type: 'text', text: 'all gone' }] }))
observeMcpServer(server, { dispatcher })

const client = new Client({ name: 'agent', version: '1.0.0' })
const [left, right] = InMemoryTransport.createLinkedPair()
await Promise.all([server.connect(left), client.connect(right)])
observeMcpClient(client, { dispatcher, agentName: 'shop' })

for (const call of [{ name: 'find_order', arguments: { id: 7 } }, { name: 'drop_table' }]) {
  const { content } = await client.callTool(call)
  console.log(content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
}
await client.close()
