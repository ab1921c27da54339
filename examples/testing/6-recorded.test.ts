// #region test
import { execAgent } from 'hookspan/agent'
import { callTool, redactKeys, replayTools } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

const file = `${import.meta.dirname}/recordings/refund.json`

test('refunds as it did when it was recorded', async ({ dispatcher, model }) => {
  using replay = replayTools(dispatcher, { file, redact: redactKeys(['email']) })
  const client = model([
    callTool('find_order', { id: '7' }),
    callTool('refund', { id: '7', amount: 20 }),
    'You get 20 € back.',
  ])
  const run = await execAgent({ agent: support, prompt: 'Order 7 was charged twice', dispatcher, client })
  expect(run).toMatchTrajectory(['find_order', 'refund'])
  expect(replay.report()).toMatchObject({ served: 2, live: 0, divergences: [], drifted: [] })
})
// #endregion
