// #region test
import { execAgent } from 'hookspan/agent'
import { callTool, human, mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

test('asks a human before a large refund, and takes no for an answer', async ({
  dispatcher,
  mocks,
  humans,
  model,
  trace,
}) => {
  mocks.use(mock('refund').optional().returns({ ok: true }))
  humans.add(human('refund').by('anna').rejects('call the customer first'))
  const client = model([callTool('refund', { id: '8', amount: 900 }), 'A colleague will call you.'])
  await execAgent({ agent: support, prompt: 'I want 900 € back', dispatcher, client })
  expect(trace).toHaveAskedHuman('refund', { approver: 'anna' })
  expect(trace).toHaveBeenDenied('refund', { reason: 'call the customer first' })
  expect(mocks.calls('refund')).toEqual([])
})
// #endregion
