import { HookDispatcher, type ParkedOperation } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import type { Approver, RunClaim } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { collector, hooksOfEveryType, turn } from './support.ts'

/** A run of one step that waits, as JSON. */
async function saved(): Promise<ParkedOperation> {
  const op = new HookDispatcher().startOperation({ agentName: 'a' })
  await op.step((step) => step.toolCall({ apiName: 'before', args: {} }, () => 1))
  return JSON.parse(JSON.stringify(op.park({ waitingFor: 'human' })))
}

const copy = (state: ParkedOperation): ParkedOperation => JSON.parse(JSON.stringify(state))
const claimed = expect.objectContaining({ code: 'STATE_CLAIMED' })

describe('without a store, one process goes on from a state once', () => {
  it('while it does, and after it has', async () => {
    const state = await saved()
    const op = new HookDispatcher().startOperation({ resume: copy(state) })
    const other = new HookDispatcher()
    expect(() => other.startOperation({ resume: copy(state) })).toThrow(claimed)
    await op.step((step) => step.toolCall({ apiName: 'mail', args: {} }, () => 'sent'))
    await op.complete()
    expect(() => other.startOperation({ resume: copy(state) })).toThrow(/went on from this state before/)
    expect(other.stats().operations).toBe(0)
  })

  it('while it does in the same dispatcher, with a store, too', async () => {
    const state = await saved()
    const dispatcher = new HookDispatcher()
    dispatcher.use(createApprovals({ store: memoryStore(), mode: 'park' }))
    const op = dispatcher.startOperation({ resume: copy(state) })
    expect(() => dispatcher.startOperation({ resume: copy(state) })).toThrow(claimed)
    await op.complete()
  })

  it('also where it waits again: who goes on, goes on from that', async () => {
    const state = await saved()
    const op = new HookDispatcher().startOperation({ resume: copy(state) })
    await op.step(() => {})
    const next = op.park({ waitingFor: 'human' })
    await turn()
    expect(() => new HookDispatcher().startOperation({ resume: copy(state) })).toThrow(claimed)
    await new HookDispatcher().startOperation({ resume: copy(next) }).complete()
  })

  it.each([
    ['failed', (state: ParkedOperation) => resumed(state).fail(new Error('down'))],
    ['was interrupted', (state: ParkedOperation) => resumed(state).interrupt()],
    ['waits as before', (state: ParkedOperation) => resumed(state).park({ waitingFor: 'human' })],
  ])('but again when it %s', async (_how, end) => {
    const state = await saved()
    await end(copy(state))
    await turn()
    await resumed(copy(state)).complete()
  })

  it.each([['nobody'], ['a store']])('at once when it waits as before, and %s keeps count', async (who) => {
    const state = await saved()
    const dispatcher = new HookDispatcher()
    if (who === 'a store') dispatcher.use(createApprovals({ store: memoryStore(), mode: 'park' }))
    const op = dispatcher.startOperation({ resume: copy(state) })
    // Not before it is known that it may: a run that is parked while that is asked has not gone on.
    await op.admit()
    const again = dispatcher.startOperation({ resume: op.park({ waitingFor: 'human' }) })
    await again.step(() => {})
    await again.complete()
    const late = () => dispatcher.startOperation({ resume: copy(state) }).step(() => {})
    await expect((async () => late())()).rejects.toEqual(claimed)
  })
})

function resumed(resume: ParkedOperation) {
  return new HookDispatcher().startOperation({ resume })
}

/** A ledger whose answers are given when the test says so. */
function slowLedger(answer: Promise<RunClaim>) {
  const settled: unknown[] = []
  const approver: Approver = {
    requestApproval: async () => ({ decision: 'park' }),
    ledger: {
      claim: async () => ({ state: 'unknown' }),
      settle: async () => {},
      claimRun: () => answer,
      settleRun: async (_key, result) => void settled.push(result),
    },
  }
  return { approver, settled }
}

describe('where the store of approvals says so', () => {
  const ways = {
    'a step': (op: Op) => op.step(() => {}),
    'an open step': (op: Op) => op.openStep(),
    'a tool call': (op: Op) => op.toolCall({ apiName: 'mail', args: {} }, () => expect.unreachable()),
    'a model call': (op: Op) => op.llmCall({ model: 'm', request: {} }, () => expect.unreachable()),
    'a call of an agent': (op: Op) =>
      op.callAgent({ agentId: 'b', instruction: 'go' }, () => expect.unreachable()),
    'a compaction': (op: Op) => op.compact({ messageCount: 1, tokenCount: 1 }, () => expect.unreachable()),
    'asking to be let in': (op: Op) => op.admit(),
    'the end': (op: Op) => op.complete(),
  }
  type Op = ReturnType<typeof resumed>

  it.each(Object.entries(ways))(
    'the loser is told at %s, and nothing is told of it',
    async (_what, begin) => {
      const { approver, settled } = slowLedger(Promise.resolve({ state: 'held' }))
      const { events, handler } = collector()
      const dispatcher = new HookDispatcher()
      const hooks = hooksOfEveryType(handler)
      const op = dispatcher.startOperation({ resume: await saved(), approver, hooks })
      await expect(begin(op)).rejects.toEqual(claimed)
      await op.fail(new Error('told'))
      await expect(begin(op)).rejects.toEqual(claimed)
      op.interrupt()
      await dispatcher.drain()
      expect([events, settled, dispatcher.stats().operations]).toEqual([[], [], 0])
    },
  )

  it('calls that are told in pieces are refused, and nothing is left that nobody waits for', async () => {
    const { approver } = slowLedger(Promise.resolve({ state: 'held' }))
    const op = new HookDispatcher().startOperation({ resume: await saved(), approver })
    const tool = op.openToolCall({ apiName: 'mail', args: {} })
    const model = op.openLlmCall({ model: 'm', request: {} })
    await expect(model.decided).rejects.toEqual(claimed)
    expect(await tool.decided).toMatchObject({ state: 'errored', error: claimed })
    await turn()
  })

  it.each(Object.entries(ways))(
    'who loses it on the way is told at %s, and nothing more',
    async (_what, begin) => {
      const lease = new AbortController()
      const { approver } = slowLedger(Promise.resolve({ state: 'run', lost: lease.signal }))
      const { events, handler } = collector()
      const dispatcher = new HookDispatcher()
      const hooks = hooksOfEveryType(handler)
      const op = dispatcher.startOperation({ resume: await saved(), approver, hooks })
      const shipped = Promise.withResolvers<string>()
      const call = op.toolCall({ apiName: 'ship', args: {} }, () => shipped.promise)
      await turn()
      const told = events.length
      lease.abort()
      shipped.resolve('done')
      await call
      await expect(begin(op)).rejects.toEqual(claimed)
      await op.fail(new Error('told'))
      op.interrupt()
      await dispatcher.drain()
      expect([events.slice(told), dispatcher.stats().operations]).toEqual([[], 0])
    },
  )

  it('a store that cannot be asked lets nobody go on', async () => {
    const { approver } = slowLedger(Promise.reject(new Error('disk full')))
    const op = new HookDispatcher().startOperation({ resume: await saved(), approver })
    await expect(op.step(() => expect.unreachable())).rejects.toThrow('disk full')
  })

  it('a run that is cut off before that is known leaves the state as it was', async () => {
    const answer = Promise.withResolvers<RunClaim>()
    const { approver, settled } = slowLedger(answer.promise)
    const { events, handler } = collector()
    const hooks = hooksOfEveryType(handler)
    const op = new HookDispatcher().startOperation({ resume: await saved(), approver, hooks })
    op.interrupt()
    answer.resolve({ state: 'run' })
    await turn()
    expect([events, settled]).toEqual([[], [undefined]])
  })

  it('what is saved on the way is held, too, and given back where the run fails', async () => {
    const approver = createApprovals({ store: memoryStore(), mode: 'park' }).approver as Approver
    const state = await saved()
    const first = new HookDispatcher().startOperation({ resume: copy(state), approver })
    await first.step(() => {})
    const checkpoint = first.checkpoint()
    const second = new HookDispatcher().startOperation({ resume: copy(checkpoint), approver })
    await expect(second.step(() => {})).rejects.toEqual(claimed)
    await first.fail(new Error('down'))
    const third = new HookDispatcher().startOperation({ resume: copy(checkpoint), approver })
    await third.step(() => {})
    await third.complete()
  })
})
