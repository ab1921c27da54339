/** An evaluation test that never touches the real tool: `event.mock()` answers in its place. */
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'
import { expect, it } from 'vitest'

const bookFlight = {
  name: 'book_flight',
  description: 'Books a flight and charges the card.',
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  execute: (): never => {
    throw new Error('a real card was charged')
  },
}

// #region readme
it('tells the customer when the flight is sold out', async () => {
  const fetch = scriptedFetch({
    steps: [
      { toolCalls: [{ name: 'book_flight', arguments: { to: 'Oslo' } }] },
      { content: 'Sorry, the flight to Oslo is sold out.' },
    ],
  })
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'sold-out',
    hooks: [
      {
        id: 'mock-booking',
        type: 'beforeToolCall',
        match: 'book_flight',
        handler: (event) => event.mock({ content: 'sold out', success: false }),
      },
    ],
  })
  const run = await execAgent({
    client: new OpenAI({ apiKey: 'none', fetch }),
    dispatcher,
    agent: { name: 'travel', model: 'gpt-4o', tools: [bookFlight] },
    prompt: 'Book me to Oslo',
  })
  expect(run.content).toContain('sold out')
})
// #endregion
