import { HookDispatcher, type HookEvent, type Operation, type OperationInit } from 'hookspan'
import { type Approver, deny, type Gate, requireApproval } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { collector, hooksOfEveryType, never, startWatched } from './support.ts'

const last = (events: HookEvent[]) => events.at(-1)

describe('a parked operation', () => {
  it('does not complete, and goes on where it stopped, over JSON and in another dispatcher', async () => {
    const identity = { agentName: 'support', agentId: 'a', userId: 'u', conversationId: 'c' }
    const { op, events, dispatcher } = startWatched(identity)
    await op.step((step) => step.toolCall({ apiName: 'a', args: {} }, () => 1))

    const parked = JSON.parse(JSON.stringify(op.park({ waitingFor: 'human' })))
    expect(events.some(({ hookType }) => hookType === 'onComplete')).toBe(false)
    expect(dispatcher.stats().operations).toBe(0)
    const next = collector()
    const resumed = new HookDispatcher().startOperation({
      resume: parked,
      hooks: hooksOfEveryType(next.handler),
    })
    await resumed.step((step) => step.toolCall({ apiName: 'b', args: {} }, () => 2))
    await resumed.complete()

    const all = [...events, ...next.events]
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_event, index) => index))
    expect(all.filter(({ hookType }) => hookType === 'onStart')).toHaveLength(1)
    expect(all.filter(({ hookType }) => hookType === 'onComplete')).toHaveLength(1)
    expect(all.flatMap((e) => (e.hookType === 'beforeStep' ? [e.stepIndex] : []))).toEqual([0, 1])
    expect(all.flatMap((e) => (e.hookType === 'beforeToolCall' ? [e.callKey] : []))).toEqual([
      'call-0',
      'call-1',
    ])
    expect(all).toEqual(all.map(() => expect.objectContaining(identity)))
    expect(last(all)).toMatchObject({ totals: { steps: 2, toolCalls: 2 } })
  })

  it.each(['park', 'checkpoint'] as const)('does not go on without its own gates: %s', async (how) => {
    const held: Gate = { id: 'held', point: 'beforeToolCall', match: 'pay', decide: () => deny('no') }
    const { op } = startWatched({ gates: [held] })
    await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, () => 1))
    const resume = JSON.parse(
      JSON.stringify(how === 'park' ? op.park({ waitingFor: 'human' }) : op.checkpoint()),
    )
    const goOn = (gates?: Gate[]) => new HookDispatcher().startOperation({ resume, ...(gates && { gates }) })
    expect(() => goOn()).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', message: expect.stringContaining('gate(s) held') }),
    )
    const resumed = goOn([held])
    expect(await resumed.toolCall({ apiName: 'pay', args: {} }, never)).toMatchObject({ state: 'denied' })
    await resumed.complete()
  })

  it('cannot be parked twice, nor after its end', async () => {
    const { op } = startWatched()
    op.park({ waitingFor: 'human' })

    expect(() => op.park({ waitingFor: 'human' })).toThrow(/"op" has ended and cannot be parked/)
    await expect(op.step(() => {})).rejects.toMatchObject({
      code: 'OPERATION_ENDED',
      message: 'Operation "op" is parked. Resume it.',
    })
  })

  it('says how the operation ended to who did not end it', async () => {
    const { op } = startWatched()
    const call = op.toolCall({ apiName: 'pay', args: {} }, () => new Promise(() => {}))
    op.interrupt()
    const told = 'Operation "op" has ended (interrupted). Start a new one.'
    expect(await call).toMatchObject({ state: 'errored', error: { message: told } })
    await expect(op.step(() => {})).rejects.toThrow(told)
  })
})

const overJson = (op: Operation) => JSON.parse(JSON.stringify(op.park({ waitingFor: 'human' })))

function resumeWatched(init: OperationInit) {
  const { events, handler } = collector()
  const op = new HookDispatcher().startOperation({ ...init, hooks: hooksOfEveryType(handler) })
  return { op, events }
}

describe('what a run was told before it was parked', () => {
  it('that its onStart gates have not decided yet: they do when it goes on', async () => {
    let asked: unknown
    const closed: Gate = {
      id: 'closed',
      point: 'onStart',
      decide: ({ payload }) => {
        asked = payload
        return deny('closed today')
      },
    }
    const { op } = startWatched({ input: { goal: 'x' } })
    let ran = 0

    const { op: resumed } = resumeWatched({ resume: overJson(op), gates: [closed] })

    await expect(resumed.step(() => void ran++)).rejects.toMatchObject({ code: 'RUN_DENIED' })
    expect([asked, ran]).toEqual([{ goal: 'x' }, 0])
  })

  it('that they have decided: they are not asked again', async () => {
    let asked = 0
    const gates: Gate[] = [{ id: 'count', point: 'onStart', decide: () => void asked++ }]
    const { op } = startWatched({ gates })
    await op.step(() => {})

    const { op: resumed } = resumeWatched({ resume: overJson(op), gates })
    await resumed.step(() => {})

    expect(asked).toBe(1)
  })

  it('that it is to end: it is to end all the same', async () => {
    const stop: Gate = { id: 'stop', point: 'beforeToolCall', decide: () => deny('never', { stop: true }) }
    const { op } = startWatched({ gates: [stop] })
    await op.toolCall({ apiName: 'drop', args: {} }, () => {})

    const { op: resumed } = resumeWatched({ resume: overJson(op), gates: [stop] })

    expect(resumed.stopRequested).toMatchObject({ reason: 'never' })
    await expect(resumed.step(() => {})).rejects.toMatchObject({ code: 'RUN_DENIED' })
  })
})

describe('a run that ends while calls of it wait for a human', () => {
  const asking: Gate = { id: 'ask', point: 'beforeToolCall', decide: () => requireApproval() }
  const withdrawn: string[] = []
  const parking: Approver = {
    requestApproval: async () => ({ decision: 'park' }),
    withdraw: (id) => void withdrawn.push(id),
  }
  const told = (events: readonly HookEvent[]) => events.map(({ hookType }) => hookType)

  it.each(['in the process that asked', 'in the one that resumed it'])(
    'tells how each of them ended, %s',
    async (where) => {
      const init = { gates: [asking], approver: parking }
      const first = startWatched(init)
      await first.op.step((step) =>
        step.toolCall({ apiName: 'pay', args: { sum: 1 }, identifier: 'bank' }, never),
      )
      const resumed = where.startsWith('in the one')
        ? resumeWatched({ ...init, resume: overJson(first.op) })
        : undefined
      withdrawn.length = 0

      await (resumed?.op ?? first.op).fail(new Error('enough'))

      const events = [...first.events, ...(resumed?.events ?? [])]
      expect(told(events)).toEqual([
        'onStart',
        'beforeStep',
        'beforeHumanIntervention',
        'afterHumanIntervention',
        'beforeToolCall',
        'onToolCallError',
        'afterStep',
        'onError',
        'onComplete',
      ])
      expect(events[3]).toMatchObject({ outcome: 'failed', toolCallIds: ['call-0'] })
      const call = { apiName: 'pay', identifier: 'bank', args: { sum: 1 }, stepIndex: 0, callKey: 'call-0' }
      const errorMessage = 'The run ended (error) before the tool ran.'
      expect(events[5]).toMatchObject({ ...call, errorType: 'AbortError', errorMessage })
      expect(withdrawn).toHaveLength(1)
    },
  )

  it('tells that the call of an agent whose run is parked failed', async () => {
    const first = startWatched()
    const instruction = 'find it'
    await first.op.callAgent({ agentName: 'researcher', instruction }, async () => ({
      status: 'waiting_for_human',
    }))
    const { op, events } = resumeWatched({ resume: overJson(first.op) })

    op.interrupt()

    expect(told(events)).toEqual(['onCallAgentError', 'onComplete'])
    expect(events[0]).toMatchObject({ agentName: 'researcher', instruction, callKey: 'call-0' })
  })

  it('tells it also of a call that goes on, when nobody asks about it any more', async () => {
    const first = startWatched({ gates: [asking], approver: parking })
    const call = { apiName: 'pay', args: {}, toolCallId: 'c1' }
    await first.op.toolCall(call, never)
    const gates = [{ ...asking, decide: () => deny('closed') }]
    const { op, events } = resumeWatched({ resume: overJson(first.op), gates, approver: parking })
    withdrawn.length = 0

    expect(await op.toolCall(call, never)).toMatchObject({ state: 'denied', reason: 'closed' })

    expect(told(events)).toEqual(['beforeToolCall', 'afterHumanIntervention', 'afterToolCall'])
    expect(withdrawn).toHaveLength(1)
  })

  it('keeps those that were not taken up when it is parked once more', async () => {
    const first = startWatched({ gates: [asking], approver: parking })
    await first.op.toolCall({ apiName: 'pay', args: {} }, never)
    const { op } = resumeWatched({ resume: overJson(first.op), gates: [asking] })

    expect(overJson(op).waiting).toMatchObject([{ apiName: 'pay', callKey: 'call-0' }])
  })
})
