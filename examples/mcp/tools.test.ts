import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { observeMcpClient } from 'hookspan/mcp'
import { human, mock, scriptedApprovals } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'

/** Somebody's server, with a tool that must not run in a test. */
async function connected() {
  const server = new McpServer({ name: 'bank', version: '1.0.0' })
  server.registerTool('charge_card', { inputSchema: z.object({ amount: z.number() }) }, () =>
    Promise.reject(new Error('a real card was charged')),
  )
  const client = new Client({ name: 'agent', version: '1.0.0' })
  const [left, right] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(left), client.connect(right)])
  return client
}

test('charges what a human allows', async ({ dispatcher, mocks, trace }) => {
  mocks.use(mock('charge_card').when({ amount: 90 }).returns('90 € charged'))
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'charge_card' })] })
  using humans = scriptedApprovals(dispatcher, [
    human('charge_card').approves(),
    human('charge_card').rejects('too much'),
  ])
  const client = observeMcpClient(await connected(), { dispatcher })
  const op = dispatcher.startOperation({ agentName: 'shop' })
  await op.run(() => client.callTool({ name: 'charge_card', arguments: { amount: 90 } }))
  const refused = await op.run(() => client.callTool({ name: 'charge_card', arguments: { amount: 9000 } }))
  await op.complete()
  humans.assertUsed()
  expect(refused.isError).toBe(true)
  expect(trace).toHaveCalledTool('charge_card', { amount: 90 }, { outcome: 'mocked' })
  expect(trace).toHaveCalledTool('charge_card', { amount: 9000 }, { outcome: 'rejected' })
})
