// #region test
import { execAgent } from 'hookspan/agent'
import { callTool, mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

test('refunds what was paid twice', async ({ dispatcher, mocks, model }) => {
  mocks.use(
    mock('find_order').when({ id: '7' }).returns({ id: '7', total: 20, paid: 40 }),
    mock('refund').returns({ ok: true }),
  )
  const client = model([
    callTool('find_order', { id: '7' }),
    callTool('refund', { id: '7', amount: 20 }),
    'You get 20 € back.',
  ])
  const run = await execAgent({ agent: support, prompt: 'Order 7 was charged twice', dispatcher, client })
  expect(run.content).toContain('20 €')
  expect(run).toHaveCalledTool('refund', { id: '7', amount: 20 }, { times: 1 })
})
// #endregion
