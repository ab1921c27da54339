// #region test
import { execAgent } from 'hookspan/agent'
import { callTool, mock, redactKeys, replayTools } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { support } from './support-agent.ts'

const file = `${import.meta.dirname}/recordings/refund.json`

test('does not promise what the bank refuses', async ({ dispatcher, mocks, model }) => {
  using replay = replayTools(dispatcher, { file, redact: redactKeys(['email']) })
  mocks.use(mock('refund').fails('the bank is down'))
  const client = model([
    callTool('find_order', { id: '7' }),
    callTool('refund', { id: '7', amount: 20 }),
    'We could not refund you yet.',
  ])
  const run = await execAgent({ agent: support, prompt: 'Order 7 was charged twice', dispatcher, client })
  expect(run).toHaveCalledTool('refund', { amount: 20 }, { result: 'the bank is down' })
  expect(replay.report()).toMatchObject({ served: 1, overruled: 1, live: 0, unreached: [] })
})
// #endregion
