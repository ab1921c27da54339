import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { recordTools, redactKeys } from 'hookspan/mock'

const dispatcher = new HookDispatcher()
{
  snippet('using recorder')
  const op = dispatcher.startOperation({ agentName: 'support' })
  const customer = { email: 'ann@example.org', paid: 40 }
  await op.toolCall({ apiName: 'find_order', args: { id: '7' } }, () => customer)
  await op.complete()
}
const written = readFileSync('recordings/refund.json', 'utf8')
const { calls } = JSON.parse(written)
assert.deepEqual(
  calls.map(({ tool, args }) => [tool, args]),
  [['find_order', { id: '7' }]],
)
assert.ok(!written.includes('ann@example.org'), 'the address was not redacted')
