// A server as FastMCP makes it, on the class below McpServer, and who asks it is no client of the SDK.
const [kind] = process.argv.slice(2)
const tool = async () => {
  console.log('is wiped')
  return { content: [{ type: 'text', text: 'done' }] }
}

async function lowServer() {
  if (kind === 'server 2') {
    const { Server } = await import('@modelcontextprotocol/server')
    const server = new Server({ name: 'shop', version: '1.0.0' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/call', tool)
    return server
  }
  // What the package asks for by its path is there before it is asked for by its name.
  if (kind === 'behind McpServer') await import('@modelcontextprotocol/sdk/server/mcp.js')
  const { Server } = await import('@modelcontextprotocol/sdk/server/index.js')
  const { CallToolRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
  const server = new Server({ name: 'shop', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, tool)
  return server
}

async function mcpServer() {
  if (kind !== 'McpServer') return lowServer()
  await import('@modelcontextprotocol/sdk/server/index.js')
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js')
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('wipe', {}, tool)
  return server
}

const { InMemoryTransport } = await import('@modelcontextprotocol/sdk/inMemory.js')
const [left, right] = InMemoryTransport.createLinkedPair()
const server = await mcpServer()
await server.connect(left)
await right.start()
const ask = (id, method, params) => {
  const { promise, resolve } = Promise.withResolvers()
  right.onmessage = resolve
  right.send({ jsonrpc: '2.0', id, method, params })
  return promise
}
await ask(1, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
})
const { result } = await ask(2, 'tools/call', { name: 'wipe', arguments: {} })
console.log(result.content[0].text)
await server.close()
