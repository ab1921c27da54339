import { execAgent } from 'hookspan/agent'
import { callTool, match, mock, mockDatabase } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

const prompt = 'Order 7 was charged twice'
const find = callTool('find_order', { id: '7' })
const refund = callTool('refund', { id: '7', amount: 20 })

// #region faults
test('tries again when the bank is down for a moment', async ({ dispatcher, mocks, model }) => {
  mocks.use(
    mock('find_order').delays(20).returns({ id: '7', total: 20, paid: 40 }),
    mock('refund').once().throws(new Error('bank is down')),
    mock('refund')
      .when({ amount: match.lte(20) })
      .returns({ ok: true }),
  )
  const client = model([find, refund, refund, 'You get 20 € back.'])
  const run = await execAgent({ agent: support, prompt, dispatcher, client })
  expect(run).toMatchTrajectory([
    'find_order',
    { name: 'refund', outcome: 'errored' },
    { name: 'refund', args: { id: '7', amount: 20 }, result: { ok: true } },
  ])
})
// #endregion

// #region world
test('leaves the order with nothing paid too much', async ({ dispatcher, mocks, model }) => {
  const db = mockDatabase({ orders: [{ id: '7', total: 20, paid: 40 }] })
  const orders = db.table('orders')
  mocks.use(
    mock('find_order').calls(({ id }) => orders.get(id)),
    mock('refund').calls(({ id, amount }: { id: string; amount: number }) =>
      orders.update(id, ({ paid }) => ({ paid: paid - amount })),
    ),
  )
  await execAgent({ agent: support, prompt, dispatcher, client: model([find, refund, 'Done.']) })
  expect(db.snapshot()).toEqual({ orders: [{ id: '7', total: 20, paid: 20 }] })
})
// #endregion
