import type { HookEvent } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { deny, mutate, requireApproval } from 'hookspan/gates'
import { expect, it } from 'vitest'
import { readAll, startWatched } from './support.ts'

const CHAT = { model: 'm', request: { messages: [] } }

function told<T extends HookEvent['hookType']>(events: readonly HookEvent[], type: T) {
  return events.filter((event): event is HookEvent<T> => event.hookType === type)
}

it('events say in which call they happened, and a sub-agent which call runs it', async () => {
  const { events, op, dispatcher } = startWatched()
  await op.step((step) =>
    step.toolCall({ apiName: 'researcher', args: {} }, async () => {
      await currentCalls()?.llmCall(CHAT, async () => ({}))
      await currentCalls()?.callAgent({ agentName: 'researcher', instruction: 'go' }, async (parent) => {
        await dispatcher.startOperation({ operationId: 'child', agentName: 'researcher', parent }).complete()
      })
    }),
  )
  await op.complete()

  const [tool] = told(events, 'beforeToolCall')
  const [agent] = told(events, 'afterCallAgent')
  expect(tool).not.toHaveProperty('withinCallKey')
  expect(told(events, 'beforeLlmCall')).toMatchObject([{ withinCallKey: tool?.callKey }])
  expect(agent).toMatchObject({ withinCallKey: tool?.callKey, subOperationId: 'child' })
  for (const event of events.filter(({ operationId }) => operationId === 'child')) {
    expect(event).toMatchObject({ parentOperationId: 'op', parentCallKey: agent?.callKey })
  }
})

it('a parent that was sent as JSON still says which call runs the child', async () => {
  const { events, op, dispatcher } = startWatched()
  const init = { agentName: 'far', instruction: 'go', remote: true }
  await op.callAgent(init, async (parent) => {
    const { callKey } = JSON.parse(JSON.stringify(parent))
    await dispatcher.startOperation({ operationId: 'child', parent: { ...parent, callKey } }).complete()
  })
  await op.complete()

  const [call] = told(events, 'beforeCallAgent')
  expect(call).toMatchObject({ remote: true, callKey: expect.any(String) })
  expect(events.find(({ operationId }) => operationId === 'child')?.parentCallKey).toBe(call?.callKey)
})

it('the last event of a call, a step and a run tells what gates decided about it', async () => {
  const { events, op } = startWatched({
    gates: [
      { id: 'watch', point: 'beforeToolCall', decide: () => deny('would not'), shadow: true },
      { id: 'clean', point: 'afterToolCall', decide: () => mutate('clean') },
      { id: 'enough', point: 'afterStep', decide: () => undefined },
      { id: 'last', point: 'beforeComplete', decide: () => undefined },
    ],
  })
  await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'raw'))
  await op.complete()

  expect(told(events, 'beforeToolCall')[0]).not.toHaveProperty('gates')
  expect(told(events, 'afterToolCall')[0]?.gates).toMatchObject([
    { gateId: 'watch', point: 'beforeToolCall', decision: 'deny', enforced: false, reason: 'would not' },
    { gateId: 'clean', point: 'afterToolCall', decision: 'mutate', enforced: true },
  ])
  expect(told(events, 'afterStep')[0]?.gates).toMatchObject([{ gateId: 'enough' }])
  expect(told(events, 'onComplete')[0]?.gates).toMatchObject([{ gateId: 'last' }])
})

it('a handler cannot change what gates decided for others', async () => {
  const { events, op } = startWatched({
    gates: [{ id: 'look', point: 'beforeCompact', decide: () => undefined }],
    hooks: [
      {
        id: 'vandal',
        type: 'afterCompact',
        priority: 1,
        handler: ({ gates }) => void (gates as unknown[]).splice(0),
      },
    ],
  })
  await op.compact({ messageCount: 2, tokenCount: 2 }, () => ({}))
  await op.complete()

  expect(told(events, 'afterCompact')[0]?.gates).toMatchObject([{ gateId: 'look' }])
})

it('a question to a human says which request it is, and why asking failed', async () => {
  const { events, op } = startWatched({
    gates: [{ id: 'ask', point: 'beforeCompact', decide: () => requireApproval() }],
    approver: { requestApproval: () => Promise.reject(new TypeError('nobody home')) },
  })
  await op.compact({ messageCount: 2, tokenCount: 2 }, () => ({})).catch(() => {})
  await op.complete()

  const [before] = told(events, 'beforeHumanIntervention')
  const [after] = told(events, 'afterHumanIntervention')
  expect(before?.withinCallKey).toBe(told(events, 'beforeCompact')[0]?.callKey)
  expect(before?.requestId).toMatch(/^apr_/)
  expect(after).toMatchObject({
    requestId: before?.requestId,
    code: 'approval_error',
    errorType: 'TypeError',
    errorMessage: 'nobody home',
  })
})

it('a model call that fails midway tells what had come of it', async () => {
  const { events, op } = startWatched({ input: 'hi', instructions: 'Be brief.', attributes: { shop: 7 } })
  async function* reply() {
    yield { id: 'r1', choices: [{ index: 0, delta: { content: 'Hel' } }] }
    throw new Error('reset')
  }
  const init = { ...CHAT, serverAddress: 'api.example', serverPort: 443 }
  const stream = await op.llmCall(init, () => reply())
  await expect(readAll(stream)).rejects.toThrow('reset')
  await op.complete()

  expect(events[0]).toMatchObject({ input: 'hi', instructions: 'Be brief.', attributes: { shop: 7 } })
  expect(told(events, 'onLlmCallError')).toMatchObject([
    {
      serverAddress: 'api.example',
      serverPort: 443,
      response: { id: 'r1', content: 'Hel' },
      timeToFirstChunkMs: expect.any(Number),
    },
  ])
})
