/** LobeHub's agent-runtime hooks, in our form. `docs/coming-from.md` names each test. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import { createApprovals } from 'hookspan/approval'
import { httpGate, requireHuman, webhookHook } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'
import { pending } from '../../approval/support.ts'

it('knows the sixteen hook types by their names', () => {
  expect([...HOOK_TYPES].sort()).toEqual(
    [
      'afterCallAgent',
      'afterCompact',
      'afterHumanIntervention',
      'afterStep',
      'afterToolCall',
      'beforeCallAgent',
      'beforeCompact',
      'beforeHumanIntervention',
      'beforeStep',
      'beforeToolCall',
      'onCallAgentError',
      'onCompactError',
      'onComplete',
      'onError',
      'onStopByHumanIntervention',
      'onToolCallError',
    ].sort(),
  )
})

it('mocks a tool from beforeToolCall: the first mock wins, and the others still observe', async () => {
  const seen: string[] = []
  const mock = (id: string) => ({
    id,
    type: 'beforeToolCall' as const,
    handler: (event: HookEvent<'beforeToolCall'>) => {
      seen.push(id)
      event.mock({ content: id })
    },
  })
  const op = new HookDispatcher().startOperation({ hooks: [mock('a'), mock('b')] })
  expect(await op.toolCall({ apiName: 't', args: {} }, () => 'real')).toMatchObject({
    state: 'mocked',
    result: 'a',
  })
  expect(seen).toEqual(['a', 'b'])
})

it('fires onComplete once, and not while the run waits for a human', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use(createApprovals({ mode: 'park' }))
  dispatcher.use({ name: 'g', gates: [requireHuman()] })
  const seen: string[] = []
  const types = ['onComplete', 'beforeHumanIntervention'] as const
  const hooks = types.map((type) => ({ id: type, type, handler: () => void seen.push(type) }))
  const op = dispatcher.startOperation({ hooks })
  await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 1))
  op.park({ waitingFor: 'human' })
  expect(seen).toEqual(['beforeHumanIntervention'])
})

it('rejects and halts, with onStopByHumanIntervention', async () => {
  const approvals = createApprovals({ pollMs: 5 })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'g', gates: [requireHuman()] })
  const seen: HookEvent<'onStopByHumanIntervention'>[] = []
  const handler = (event: HookEvent<'onStopByHumanIntervention'>) => void seen.push(event)
  const op = dispatcher.startOperation({ hooks: [{ id: 's', type: 'onStopByHumanIntervention', handler }] })
  const outcome = op.toolCall({ apiName: 't', args: {} }, () => 1)
  await approvals.respond((await pending(approvals)).id, {
    decision: 'reject',
    reason: 'stop it',
    stop: true,
  })
  expect((await outcome).state).toBe('rejected')
  expect(seen).toMatchObject([{ reason: 'rejected', rejectionReason: 'stop it' }])
})

it('delivers a webhook, and lets an endpoint decide: failing closed', async () => {
  const got: string[] = []
  const server = createServer((request, response) => {
    got.push(request.url ?? '')
    response.writeHead(request.url === '/decide' ? 204 : 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'g',
    gates: [
      httpGate({ id: 'g', point: 'beforeToolCall', url: `${base}/decide`, allowPrivateAddresses: true }),
    ],
  })
  const hook = webhookHook({ id: 'w', type: 'onComplete', url: `${base}/done`, allowPrivateAddresses: true })
  const op = dispatcher.startOperation({ hooks: [hook] })
  expect(await op.toolCall({ apiName: 't', args: {} }, () => 1)).toMatchObject({
    state: 'denied',
    code: 'gate_error',
  })
  await op.complete()
  await hook.flush()
  expect(got).toEqual(['/decide', '/done'])
})
