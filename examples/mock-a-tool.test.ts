import { execAgent } from 'hookspan/agent'
import { callTool, mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'

const bookFlight = {
  name: 'book_flight',
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  execute: () => Promise.reject(new Error('a real card was charged')),
}
const agent = { name: 'travel', model: 'gpt-4o', tools: [bookFlight] }

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks, model }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const book = (city = '') => callTool('book_flight', { to: city })
  const client = model([book('Oslo'), book('Bergen'), 'Oslo is sold out. You fly to Bergen.'])
  const run = await execAgent({ agent, prompt: 'Book me to Norway', client, dispatcher })
  expect(run).toMatchTrajectory([
    { name: 'book_flight', outcome: 'errored' },
    { name: 'book_flight', args: { to: 'Bergen' } },
  ])
})
