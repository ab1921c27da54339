import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'
import * as policies from 'hookspan/policies'
import { sent } from './outside.mjs'

const dispatcher = new HookDispatcher()
/** What the snippet makes, which it gives to nobody. */
const made = []
const webhookHook = (options) => made.push(policies.webhookHook(options))
const webhookHooks = (options) => made.push(...policies.webhookHooks(options))
snippet('webhookHook(')

dispatcher.use({ name: 'page', hooks: made })
const op = dispatcher.startOperation({ agentName: 'page', operationId: 'run-1' })
await op.complete()
await Promise.all(made.map((hook) => hook.flush()))

const posted = sent.map(({ url, body }) => ({ url, ...JSON.parse(body.toString()) }))
const to = (url) => posted.filter((one) => one.url === url)
assert.deepEqual(Object.keys(to('https://billing.example/runs')[0].event).sort(), [
  'operationId',
  'reason',
  'totals',
])
assert.deepEqual(
  to('https://ops.example/').map(({ type, event }) => [type, Object.keys(event).sort()]),
  [['onComplete', ['operationId', 'timestamp']]],
)
assert.equal(posted.length, 2)
