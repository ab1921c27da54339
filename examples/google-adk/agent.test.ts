import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk'
import { hookspanPlugin } from 'hookspan/google-adk'
import { mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'

class Scripted extends BaseLlm {
  turns = [
    [{ functionCall: { id: '1', name: 'book_flight', args: { to: 'Oslo' } } }],
    [{ functionCall: { id: '2', name: 'book_flight', args: { to: 'Bergen' } } }],
    [{ text: 'You fly to Bergen.' }],
  ]
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: this.turns.shift() ?? [] } }
  }
  async connect(): Promise<never> {
    throw new Error('not live')
  }
}

const bookFlight = new FunctionTool({
  name: 'book_flight',
  description: 'Books a flight.',
  parameters: z.object({ to: z.string() }),
  execute: () => Promise.reject(new Error('a real card was charged')),
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const agent = new LlmAgent({
    name: 'travel',
    model: new Scripted({ model: 'scripted' }),
    tools: [bookFlight],
  })
  const runner = new InMemoryRunner({ agent, appName: 'travel', plugins: [hookspanPlugin({ dispatcher })] })
  const newMessage = { role: 'user', parts: [{ text: 'Book me to Norway' }] }
  const said: string[] = []
  for await (const { content } of runner.runEphemeral({ userId: 'ines', newMessage })) {
    for (const { text } of content?.parts ?? []) if (text !== undefined) said.push(text)
  }
  expect(said).toEqual(['You fly to Bergen.'])
})
