/** Each policy of the page, at work on a tool call or a model call. */
import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'
import { verifySignature } from 'hookspan/approval'
import { budget, httpGate, loopGuard, redact, requireHuman, toolCache, toolPolicy } from 'hookspan/policies'
import { answer, sent } from './outside.mjs'

/** Makes calls in a run that one gate, or several, guard. @returns what became of each. */
async function under(gates, calls, init = {}) {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'page', gates: [gates].flat(), ...init })
  const op = dispatcher.startOperation({ agentName: 'page' })
  const told = []
  for (const [apiName, args = {}, run = () => 'done'] of calls) {
    const outcome = await op.toolCall({ apiName, args }, run)
    told.push(outcome.code ?? outcome.result ?? outcome.state)
  }
  await op.complete()
  return told
}

const policy = snippet('toolPolicy(')
assert.deepEqual(
  await under(policy, [
    ['run_shell'],
    ['file_read', { path: 'a.txt' }],
    ['file_read', { path: '/etc/passwd' }],
    ['file_read', { at: { path: '../x' } }],
    ['mail'],
  ]),
  ['tool_not_allowed', 'done', 'argument_denied', 'argument_denied', 'tool_not_allowed'],
)

const limits = snippet('budget(')
const forty = Array.from({ length: 41 }, (_, id) => ['find', { id }])
const counted = await under(limits, forty)
assert.deepEqual([counted[39], counted[40]], ['done', 'budget_exceeded'])

const loops = snippet('loopGuard(')
assert.deepEqual(
  await under(loops, [...Array(4).fill(['find', { id: 1 }]), ...Array(5).fill(['poll_mail', {}])]),
  ['done', 'done', 'done', 'loop_detected', ...Array(5).fill('done')],
)

const clean = snippet('redact(')
const told = await under(clean, [
  ['find', {}, () => 'ann@example.org paid with 4111 1111 1111 1111 as C-12345678, from 10.0.0.1'],
])
assert.deepEqual(told, ['[email] paid with [creditCard] as [customer], from 10.0.0.1'])

const cache = snippet('toolCache(')
let ran = 0
const count = () => `run ${++ran}`
assert.deepEqual(
  await under(cache, [
    ['get_user', { id: 1 }, count],
    ['get_user', { id: 1 }, count],
    ['pay', {}, count],
  ]),
  ['run 1', 'run 1', 'run 2'],
)

const human = snippet('requireHuman(')
const asked = []
const approver = {
  requestApproval: async ({ apiName, instructions }) => {
    asked.push([apiName, instructions])
    return { decision: 'approve', approver: 'ann' }
  },
}
assert.deepEqual(await under(human, [['send_mail'], ['find']], { approver }), ['done', 'done'])
assert.deepEqual(asked, [['send_mail', 'Does the customer want it?']])
assert.deepEqual(await under(snippet('requireHuman('), [['send_mail']]), ['no_approver'])

process.env.GUARD_SECRET = 'a secret of some length'
const guard = snippet('httpGate(')
answer('https://guard.example/decide', ({ body, headers }) => {
  const text = body.toString()
  verifySignature({ body: text, headers, secret: process.env.GUARD_SECRET })
  const { payload } = JSON.parse(text)
  return payload.id === 7
    ? { decision: 'proceed' }
    : { decision: 'deny', reason: 'only 7', code: 'not_seven' }
})
assert.deepEqual(
  await under(guard, [
    ['find', { id: 7 }],
    ['find', { id: 8 }],
  ]),
  ['done', 'not_seven'],
)
assert.equal(sent.length, 2)
