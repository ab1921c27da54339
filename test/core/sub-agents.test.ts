import { HookDispatcher, type HookEvent } from 'hookspan'
import { deny, type Gate } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { collector, hook, startWatched } from './support.ts'

const _last = (events: HookEvent[]) => events.at(-1)

describe('sub-agents', () => {
  it('have the gates of their parents, also of those that are added later', async () => {
    const guard: Gate = { id: 'guard', point: 'beforeToolCall', decide: () => deny('not here') }
    const { op, dispatcher } = startWatched({ gates: [guard] })

    await op.callAgent({ agentName: 'child', instruction: 'x' }, async (parent) => {
      const child = dispatcher.startOperation({ parent })
      await child.callAgent({ agentName: 'grandchild', instruction: 'y' }, async (inner) => {
        const grandchild = new HookDispatcher().startOperation({ parent: inner })
        expect(await grandchild.toolCall({ apiName: 'a', args: {} }, () => 'ran')).toMatchObject({
          state: 'denied',
        })
        expect(grandchild.rootOperationId).toBe('op')
      })
    })
  })

  it('have the gates and the place of the operation that is handed over itself', async () => {
    const guard: Gate = { id: 'guard', point: 'beforeToolCall', decide: () => deny('not here') }
    const { op } = startWatched({ gates: [guard], agentName: 'support', userId: 'u' })

    const child = new HookDispatcher().startOperation({ agentName: 'child', parent: op })

    expect(await child.toolCall({ apiName: 'a', args: {} }, () => 'ran')).toMatchObject({ state: 'denied' })
    expect(child.asParent()).toMatchObject({ agentPath: ['support', 'child'], userId: 'u' })
  })

  it('are aborted with their parents, and by a signal of their own', async () => {
    const mine = new AbortController()
    const theirs = new AbortController()
    const { op, dispatcher } = startWatched({ signal: mine.signal })
    const child = dispatcher.startOperation({ parent: op.asParent(), signal: theirs.signal })
    const other = dispatcher.startOperation({ parent: op.asParent(), signal: new AbortController().signal })

    theirs.abort(new Error('only this one'))
    expect([child.signal?.aborted, other.signal?.aborted]).toEqual([true, false])
    mine.abort(new Error('all'))

    expect([child.signal?.reason.message, other.signal?.reason.message]).toEqual(['only this one', 'all'])
  })

  it('keep what their parents are over JSON: ids, trace and path, but neither gates nor signal', () => {
    const { op } = startWatched({ agentName: 'support', userId: 'u', conversationId: 'c' })

    const parent = JSON.parse(JSON.stringify(op.asParent()))

    expect(parent).toEqual({
      operationId: 'op',
      rootOperationId: 'op',
      agentPath: ['support'],
      userId: 'u',
      conversationId: 'c',
    })
    const { events, handler } = collector()
    new HookDispatcher().startOperation({ parent, hooks: [hook('onStart', handler)] })
    expect(events[0]).toMatchObject({
      parentOperationId: 'op',
      rootOperationId: 'op',
      userId: 'u',
      conversationId: 'c',
    })
  })
})
