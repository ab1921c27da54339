import { type CallableTool, GoogleGenAI } from '@google/genai'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { callTool, human, mock, scriptedApprovals, scriptedFetch } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { expect, test } from 'hookspan/vitest'

const cards: CallableTool = {
  tool: async () => ({ functionDeclarations: [{ name: 'charge_card' }] }),
  callTool: () => Promise.reject(new Error('a real card was charged')),
}

/** Somebody's agent. */
const shop = (ai: GoogleGenAI) =>
  ai.models.generateContent({
    model: 'gemini-3.8-flash',
    contents: 'Charge 90 €, then 9000 €.',
    config: { tools: [cards] },
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
  const fetch = scriptedFetch({ steps })
  const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { fetch } as never })
  await shop(observeGoogleGenAI(google, { dispatcher, agentName: 'shop' }))
  humans.assertUsed()
  expect(trace).toHaveCalledTool('charge_card', { amount: 90 }, { outcome: 'mocked' })
  expect(trace).toHaveCalledTool('charge_card', { amount: 9000 }, { outcome: 'rejected' })
})
