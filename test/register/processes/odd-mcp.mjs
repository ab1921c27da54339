import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { each, frozen } from './odd-cases.mjs'

class FrozenClient extends Client {
  constructor(...args) {
    super(...args)
    frozen(this)
  }
}
class PrivateClient extends Client {
  #own() {}
  async callTool(...args) {
    this.#own()
    return super.callTool(...args)
  }
}
class GetterClient extends Client {
  get callTool() {
    return (...args) => super.callTool(...args)
  }
}
class LockedClient extends Client {
  constructor(...args) {
    super(...args)
    Object.defineProperty(this, 'callTool', { value: this.callTool.bind(this) })
  }
}
class PrivateServer extends McpServer {
  #own() {}
  registerTool(...args) {
    this.#own()
    return super.registerTool(...args)
  }
}
class FrozenServer extends McpServer {
  constructor(...args) {
    super(...args)
    frozen(this)
  }
}
class FrozenLow extends McpServer {
  constructor(...args) {
    super(...args)
    for (const key of ['elicitInput', 'createMessage']) {
      Object.defineProperty(this.server, key, { value: this.server[key].bind(this.server) })
    }
  }
}
async function ask(Made = Client, Serves = McpServer, as = (x) => x) {
  const server = new Serves({ name: 'shop', version: '1.0.0' })
  server.registerTool('wipe', { inputSchema: z.object({ q: z.string() }) }, async ({ q }) => {
    console.log('  wiped')
    return { content: [{ type: 'text', text: `found ${q}` }] }
  })
  const [left, right] = InMemoryTransport.createLinkedPair()
  const client = as(new Made({ name: 'agent', version: '1.0.0' }))
  await Promise.all([server.connect(left), client.connect(right)])
  const { content } = await client.callTool({ name: 'wipe', arguments: { q: 'bags' } })
  await client.close()
  return content[0].text
}
await each({
  plain: () => ask(),
  'sealed client': () => ask(Client, McpServer, Object.seal),
  'client frozen in its constructor': () => ask(FrozenClient).catch(({ name }) => name),
  'client with private methods': () => ask(PrivateClient),
  'client with getters': () => ask(GetterClient),
  'client whose methods are locked': () => ask(LockedClient),
  'proxy of a client': () => ask(Client, McpServer, (client) => new Proxy(client, {})),
  'server with private methods': () => ask(Client, PrivateServer),
  'server frozen in its constructor': () => ask(Client, FrozenServer).catch(({ name }) => name),
  'server whose methods are locked': () => ask(Client, FrozenLow),
})
