import Anthropic from '@anthropic-ai/sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { callTool, human, mock, scriptedApprovals, scriptedFetch } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { expect, test } from 'hookspan/vitest'

const chargeCard = {
  name: 'charge_card',
  description: 'Charges a card.',
  input_schema: { type: 'object' as const, properties: { amount: { type: 'number' } } },
  run: () => Promise.reject(new Error('a real card was charged')),
}

/** Somebody's agent. */
const shop = (client: Anthropic) =>
  client.beta.messages.toolRunner({
    model: 'claude-opus-5',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Charge 90 €, then 9000 €.' }],
    tools: [chargeCard],
  })

test('charges what a human allows', async ({ dispatcher, mocks, trace }) => {
  mocks.use(mock('charge_card').when({ amount: 90 }).returns('90 € charged'))
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'charge_card' })] })
  using humans = scriptedApprovals(dispatcher, [
    human('charge_card').approves(),
    human('charge_card').rejects('too much'),
  ])
  const steps = [
    callTool('charge_card', { amount: 90 }),
    callTool('charge_card', { amount: 9000 }),
    { content: '90 € are charged.' },
  ]
  const anthropic = new Anthropic({ apiKey: 'none', fetch: scriptedFetch({ steps }) })
  await shop(observeAnthropic(anthropic, { dispatcher, agentName: 'shop' }))
  humans.assertUsed()
  expect(trace).toHaveCalledTool('charge_card', { amount: 90 }, { outcome: 'mocked' })
  expect(trace).toHaveCalledTool('charge_card', { amount: 9000 }, { outcome: 'rejected' })
})
