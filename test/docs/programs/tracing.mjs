import assert from 'node:assert/strict'
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

// What the platform gets back has been sent already, before it freezes the process.
assert.equal(await handler({ text: 'x' }), 'To x: 42')
assert.ok(sent.some(({ url, body }) => url.endsWith('/v1/traces') && body.includes('invoke_agent support')))
assert.equal(tracing.stats().queued, 0)
await tracing.shutdown()
