/** Rules of `hookspan/mock` with `node --test`, on a loop of one's own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HookDispatcher } from 'hookspan'
import { match, mock, mockTools } from 'hookspan/mock'

const dispatcher = new HookDispatcher()

/** The agent under test: any code that runs its tools through the dispatcher. */
async function bookFlight(cities: readonly string[]): Promise<string> {
  const op = dispatcher.startOperation({ agentName: 'travel' })
  for (const to of cities) {
    const call = { apiName: 'book_flight', args: { to } }
    const booked = await op.step((step) => step.toolCall(call, chargeTheCard))
    if (booked.state !== 'errored') return op.complete({ content: to }).then(() => to)
  }
  await op.complete({ content: 'nowhere' })
  return 'nowhere'
}

const chargeTheCard = () => Promise.reject(new Error('a real card was charged'))

test('flies to Bergen when Oslo is sold out', async () => {
  using mocks = mockTools(dispatcher, [
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight')
      .when({ to: match.regex(/^Ber/) })
      .returns({ ok: true }),
  ])
  const booked = await bookFlight(['Oslo', 'Bergen'])
  mocks.assertUsed()
  assert.equal(booked, 'Bergen')
  assert.equal(mocks.calls('book_flight').length, 2)
})
