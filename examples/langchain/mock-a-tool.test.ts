import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { hookspanMiddleware } from 'hookspan/langchain'
import { mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const bookFlight = tool((): string => Promise.reject(new Error('a real card was charged')) as never, {
  name: 'book_flight',
  description: 'Books a flight.',
  schema: z.object({ to: z.string() }),
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const book = (to: string, id: string) => [{ name: 'book_flight', args: { to }, id }]
  const model = fakeModel()
    .respondWithTools(book('Oslo', '1'))
    .respondWithTools(book('Bergen', '2'))
    .respond(new AIMessage('You fly to Bergen.'))
  const agent = createAgent({ model, tools: [bookFlight], middleware: [hookspanMiddleware({ dispatcher })] })
  const { messages } = await agent.invoke({ messages: [new HumanMessage('Book me to Norway')] })
  expect(messages.at(-1)?.text).toBe('You fly to Bergen.')
})
