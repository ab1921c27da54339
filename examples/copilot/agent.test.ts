import { CopilotClient, defineTool } from '@github/copilot-sdk'
import { observeCopilot } from 'hookspan/copilot'
import { mock, startScriptedServer } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'

const bookFlight = defineTool('book_flight', {
  description: 'Books a flight.',
  parameters: z.object({ to: z.string() }),
  handler: () => Promise.reject(new Error('a real card was charged')),
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  await using server = await startScriptedServer({
    steps: [
      { toolCalls: [{ name: 'book_flight', arguments: { to: 'Oslo' } }] },
      { toolCalls: [{ name: 'book_flight', arguments: { to: 'Bergen' } }] },
      { content: 'You fly to Bergen.' },
    ],
  })
  const client = observeCopilot(new CopilotClient(), { dispatcher })
  const session = await client.createSession({
    model: 'gpt-4o',
    provider: { type: 'openai', baseUrl: server.baseURL, apiKey: 'none' },
    tools: [bookFlight],
    // Copilot's own tools would run live: none is there.
    availableTools: ['custom:*'],
    onPermissionRequest: () => ({ kind: 'approve-once' }),
  })
  const reply = await session.sendAndWait('Book me to Norway')
  expect(reply?.data.content).toBe('You fly to Bergen.')
  await session.disconnect()
  await client.stop()
})
