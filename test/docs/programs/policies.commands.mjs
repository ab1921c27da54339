import assert from 'node:assert/strict'
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { commandGate, commandHooks } from 'hookspan/policies'

cpSync(fileURLToPath(new URL('../../../examples/policies/guards', import.meta.url)), 'guards', {
  recursive: true,
})
writeFileSync('audit.sh', '#!/bin/sh\ncat >> audit.txt\necho >> audit.txt\n')
chmodSync('audit.sh', 0o755)

const gate = snippet('commandGate(')
const hooks = snippet('commandHooks(')
const dispatcher = new HookDispatcher()
dispatcher.use({ name: 'page', gates: [gate], hooks })
const op = dispatcher.startOperation({ agentName: 'page', operationId: 'run-1' })
const states = []
for (const hour of [9, 22])
  states.push(await op.toolCall({ apiName: 'call_customer', args: { hour } }, () => 'called'))
await op.complete()
await dispatcher.drain(undefined, { timeoutMs: 60_000 })
assert.deepEqual(
  states.map(({ state, code }) => [state, code]),
  [
    ['completed', undefined],
    ['denied', 'office_hours'],
  ],
)
const { type, event } = JSON.parse(readFileSync('audit.txt', 'utf8'))
assert.deepEqual([type, event], ['onComplete', { operationId: 'run-1', reason: 'done' }])
