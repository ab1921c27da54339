const { Client, InMemoryTransport } = require('@modelcontextprotocol/client')
const { McpServer } = require('@modelcontextprotocol/server')
const OpenAI = require('openai')
const { z } = require('zod')

async function main() {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('find', { inputSchema: z.object({ q: z.string() }) }, async ({ q }) => ({
    content: [{ type: 'text', text: `found ${q}` }],
  }))
  const [left, right] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await Promise.all([server.connect(left), client.connect(right)])
  const messages = [{ role: 'user', content: 'Find bags.' }]
  await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
  const { content } = await client.callTool({ name: 'find', arguments: { q: 'bags' } })
  console.log(content[0].text)
  await client.close()
}
main()
