// #region test
import { execAgent } from 'hookspan/agent'
import { callTool } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

test('refunds what was paid twice', async ({ dispatcher, mocks, model }) => {
  const client = model([
    callTool('find_order', { id: '7' }),
    callTool('refund', { id: '7', amount: 20 }),
    'You get 20 € back.',
  ])
  const run = await execAgent({ agent: support, prompt: 'Order 7 was charged twice', dispatcher, client })
  expect(run.content).toContain('20 €')
  expect(mocks.calls()).toHaveLength(2)
})
// #endregion
