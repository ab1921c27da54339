// As agents of one's own do: tools of an MCP server have its name before theirs, and one of the program's is beside them.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import OpenAI from 'openai'
import { z } from 'zod'

const server = new McpServer({ name: 'shop', version: '1.0.0' })
server.registerTool('wipe', { inputSchema: z.object({ what: z.string() }) }, async () => ({
  content: [{ type: 'text', text: 'wiped' }],
}))
const [left, right] = InMemoryTransport.createLinkedPair()
const client = new Client({ name: 'agent', version: '1.0.0' })
await Promise.all([server.connect(left), client.connect(right)])
const openai = new OpenAI()
const messages = [{ role: 'user', content: 'Clean up.' }]
const ask = async () =>
  (await openai.chat.completions.create({ model: 'gpt-4o', messages })).choices[0].message
const reply = await ask()
messages.push(reply)
for (const { id, function: called } of reply.tool_calls) {
  const [name] = called.name.split('_').slice(-1)
  const args = { name, arguments: JSON.parse(called.arguments) }
  const made = called.name.startsWith('shop_')
    ? await client.callTool(args).catch(({ message }) => message)
    : 'wiped here'
  messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(made) })
}
console.log((await ask()).content)
await client.close()
