/** An MCP server over stdin and stdout: its tools are the arguments after a file, which it writes down in what they were called with. */
import { appendFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const [, , file, ...names] = process.argv
const server = new McpServer({ name: 'its-own-name', version: '1.0.0' })
for (const name of names) {
  server.registerTool(name, { inputSchema: { id: z.number() } }, ({ id }) => {
    appendFileSync(file, `${name} ${id}\n`)
    return { content: [{ type: 'text', text: `${name} did ${id}` }] }
  })
}
await server.connect(new StdioServerTransport())
