import { HookDispatcher, type HookEvent } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { collector, hooksOfEveryType, startWatched } from './support.ts'

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

  it('cannot be parked twice, nor after its end', async () => {
    const { op } = startWatched()
    op.park({ waitingFor: 'human' })

    expect(() => op.park({ waitingFor: 'human' })).toThrow(/"op" has ended and cannot be parked/)
    await expect(op.step(() => {})).rejects.toMatchObject({ code: 'OPERATION_ENDED' })
  })
})
