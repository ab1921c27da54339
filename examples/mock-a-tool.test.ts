/** An evaluation test that never touches the real tool: a rule answers in its place, and the test ends strictly. */
import { execAgent } from 'hookspan/agent'
import { callTool, match, mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'

const bookFlight = {
  name: 'book_flight',
  description: 'Books a flight and charges the card.',
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  execute: (): never => {
    throw new Error('a real card was charged')
  },
}
const agent = { name: 'travel', model: 'gpt-4o', tools: [bookFlight] }

test('offers Bergen when Oslo is sold out', async ({ dispatcher, mocks, model }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight')
      .when({ to: match.regex(/^Ber/) })
      .returns({ ok: true }),
  )
  const client = model([
    callTool('book_flight', { to: 'Oslo' }),
    callTool('book_flight', { to: 'Bergen' }),
    'Oslo is sold out. You fly to Bergen.',
  ])
  const run = await execAgent({ agent, prompt: 'Book me to Norway', dispatcher, client })
  expect(run).toMatchTrajectory([
    { name: 'book_flight', outcome: 'errored' },
    { name: 'book_flight', args: { to: 'Bergen' } },
  ])
})
