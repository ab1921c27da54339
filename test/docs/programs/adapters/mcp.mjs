import assert from 'node:assert/strict'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { HookDispatcher } from 'hookspan'

const dispatcher = new HookDispatcher()
const seen = []
dispatcher.use({
  name: 'seen',
  hooks: [
    { id: 'tools', type: 'afterToolCall', handler: (e) => seen.push([e.agentName, e.identifier, e.source]) },
  ],
})
const server = new McpServer({ name: 'shop', version: '1.0.0' })
server.registerTool('find_order', {}, async () => ({ content: [{ type: 'text', text: 'shipped' }] }))
const client = new Client({ name: 'agent', version: '1.0.0' })
snippet('import { observeMcpClient')

const [left, right] = InMemoryTransport.createLinkedPair()
await Promise.all([server.connect(left), client.connect(right)])
const { content } = await client.callTool({ name: 'find_order' })
assert.equal(content[0].text, 'shipped')
await client.close()
await dispatcher.drain()
// Both sides saw it, each in an operation of its own: the server first.
assert.equal(seen.length, 2)
assert.deepEqual(seen[1].slice(1), ['orders', 'mcp'])
