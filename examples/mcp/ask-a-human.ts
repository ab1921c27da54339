/** A gate asks a human, who answers from another process. A call ends with its connection, and cannot go on in another process: it waits. */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeMcpClient } from 'hookspan/mcp'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'

const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const wake = () => void spawn(process.execPath, [import.meta.filename, folder], { stdio: 'inherit' })
const approvals = createApprovals({
  store: sqliteStore({ path: `${folder}/approvals.db` }),
  channels: [{ name: 'the human', requested: wake }],
})

if (process.argv[2] !== undefined) {
  // The human, in a process of their own: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
} else {
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })

  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  server.registerTool('delete_order', { inputSchema: z.object({ id: z.number() }) }, async ({ id }) => {
    console.log('the tool runs')
    return { content: [{ type: 'text', text: `Order ${id} is deleted.` }] }
  })
  const client = new Client({ name: 'agent', version: '1.0.0' })
  const [left, right] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(left), client.connect(right)])
  observeMcpClient(client, { dispatcher, agentName: 'shop' })

  const { content } = await client.callTool({ name: 'delete_order', arguments: { id: 7 } })
  console.log(content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
  await client.close()
}
