import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { observeMastra } from 'hookspan/mastra'
import { mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'
import { scripted } from '../ai-sdk/scripted.ts'

const book_flight = createTool({
  id: 'book_flight',
  description: 'Books a flight.',
  inputSchema: z.object({ to: z.string() }),
  execute: (): Promise<{ ok: boolean }> => Promise.reject(new Error('a real card was charged')),
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const book = (to: string) => ({ tool: 'book_flight', input: { to } })
  const model = scripted([book('Oslo'), book('Bergen'), 'You fly to Bergen.'])
  const agent = new Agent({
    id: 'travel',
    name: 'travel',
    instructions: 'Book.',
    model,
    tools: { book_flight },
  })
  observeMastra(agent, { dispatcher })
  expect((await agent.generate('Book me to Norway')).text).toBe('You fly to Bergen.')
})
