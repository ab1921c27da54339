import { execAgent } from 'hookspan/agent'
import { callTool, callTools, match, mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

const prompt = 'Orders 7 and 8 were charged twice'

// #region trajectory
test('looks before it pays, in whatever order it looks', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('find_order').returns({ total: 20, paid: 40 }), mock('refund').returns({ ok: true }))
  const client = model([
    callTools(['find_order', { id: '8' }], ['find_order', { id: '7' }]),
    callTool('refund', { id: '7', amount: 20 }),
    'You get 20 € back.',
  ])
  const run = await execAgent({ agent: support, prompt, dispatcher, client })
  expect(run).toMatchTrajectory(
    [
      { name: 'find_order', args: { id: '7' }, id: 'first' },
      { name: 'find_order', args: { id: '8' }, id: 'second' },
      { name: 'refund', args: { id: '7', amount: match.lte(20) }, after: ['first', 'second'] },
    ],
    { mode: 'unordered', forbidden: ['delete_*'], maxCalls: { refund: 1 } },
  )
})
// #endregion

// #region repeat
test('passes more often than not', async ({ repeat }) => {
  const report = await repeat(4, async ({ index, dispatcher, mocks, model }) => {
    mocks.use(mock('find_order').returns({ total: 20, paid: 40 }), mock('refund').returns({ ok: true }))
    const forgets = index === 3
    const client = model([
      callTool('find_order', { id: '7' }),
      ...(forgets ? [] : [callTool('refund', { id: '7', amount: 20 })]),
      'Done.',
    ])
    await execAgent({ agent: support, prompt, dispatcher, client })
  })
  expect(report.passed).toBe(3)
  expect(report.passHat(2)).toBeCloseTo(0.5)
  expect(report.failures[0]?.error.message).toContain('A mock was not used: mock("refund")')
})
// #endregion
