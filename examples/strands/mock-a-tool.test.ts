import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { mock, scriptedFetch } from 'hookspan/mock'
import { observeStrands } from 'hookspan/strands'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'

const bookFlight = tool({
  name: 'book_flight',
  description: 'Books a flight.',
  inputSchema: z.object({ to: z.string() }),
  callback: (): string => {
    throw new Error('a real card was charged')
  },
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const book = (to: string) => ({ toolCalls: [{ name: 'book_flight', arguments: { to } }] })
  const fetch = scriptedFetch({ steps: [book('Oslo'), book('Bergen'), { content: 'You fly to Bergen.' }] })
  const model = new OpenAIModel({
    api: 'responses',
    modelId: 'gpt-4o',
    apiKey: 'none',
    clientConfig: { fetch },
  })
  const agent = new Agent({ model, tools: [bookFlight], printer: false })
  observeStrands(agent, { dispatcher })
  expect((await agent.invoke('Book me to Norway')).toString()).toBe('You fly to Bergen.')
})
