import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { HookDispatcher } from 'hookspan'
import { startTracing, withFlush } from 'hookspan/tracing'
import { sent } from './outside.mjs'

const tracing = startTracing({ endpoint: 'http://localhost:4318' })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
async function answer(text) {
  const op = dispatcher.startOperation({ agentName: 'support' })
  await op.complete()
  return `To ${text}: 42`
}
snippet('export const handler')

// What the platform gets back has been sent already, before it freezes the process; where that takes over 100 ms, as on a
// machine with other work, it goes on when the process does.
assert.equal(await handler({ text: 'x' }), 'To x: 42')
const isSent = () =>
  sent.some(({ url, body }) => url.endsWith('/v1/traces') && body.includes('invoke_agent support'))
for (let turns = 0; turns < 200 && tracing.stats().queued > 0; turns++) await setTimeout(50)
assert.ok(isSent())
assert.equal(tracing.stats().queued, 0)
await tracing.shutdown()
