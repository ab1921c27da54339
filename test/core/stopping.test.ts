import type { HookEvent } from 'hookspan'
import { deny, type Gate, requireApproval } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { startWatched, turn } from './support.ts'

const last = (events: HookEvent[]) => events.at(-1)

describe('a run that is to end', () => {
  const stopping: Gate = {
    id: 'stop',
    point: 'beforeToolCall',
    decide: (ctx) => (ctx.apiName === 'drop' ? deny('never', { code: 'no_drop', stop: true }) : undefined),
  }
  const drop = { apiName: 'drop', args: {} }
  const search = { apiName: 'search', args: {} }

  it('runs no tool, model, agent or step any more, and ends as denied', async () => {
    const { op, events } = startWatched({ gates: [stopping] })
    let ran = 0
    const run = () => void ran++
    await op.step(async (step) => {
      expect(await step.toolCall(drop, run)).toMatchObject({ state: 'denied', code: 'no_drop', stop: true })
      expect(op.stopRequested).toMatchObject({ code: 'no_drop', reason: 'never' })
      expect(await step.toolCall(search, run)).toMatchObject({ state: 'denied', code: 'no_drop', stop: true })
      const denied = { code: 'RUN_DENIED' }
      await expect(step.llmCall({ model: 'm', request: {} }, run)).rejects.toMatchObject(denied)
      await expect(step.callAgent({ instruction: 'x' }, run)).rejects.toMatchObject(denied)
      await expect(step.compact({ messageCount: 1, tokenCount: 1 }, run as never)).rejects.toMatchObject(
        denied,
      )
    })
    const error = await op.step(run).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'RUN_DENIED', message: 'The run was denied (no_drop): never' })

    await op.fail(error)

    expect(ran).toBe(0)
    expect(events.filter(({ hookType }) => hookType === 'afterToolCall')).toHaveLength(2)
    expect(last(events)).toMatchObject({ hookType: 'onComplete', reason: 'denied' })
    expect(events.some(({ hookType }) => hookType === 'onError')).toBe(false)
  })

  it('ends as denied, also when its runtime calls it done', async () => {
    const { op, events } = startWatched({ gates: [stopping] })
    await op.toolCall(drop, () => {})

    expect(await op.complete({ reason: 'done', content: 'all good' })).toMatchObject({ reason: 'denied' })

    expect(last(events)).toMatchObject({ reason: 'denied' })
  })

  it('ends as denied, also when its runtime leaves it, unless somebody aborts it', async () => {
    const { op, events } = startWatched({ gates: [stopping] })
    await op.toolCall(drop, () => {})
    expect(await op.complete({ reason: 'interrupted' })).toEqual({ reason: 'denied' })
    expect(last(events)).toMatchObject({ reason: 'denied' })

    const controller = new AbortController()
    const aborted = startWatched({ gates: [stopping], signal: controller.signal })
    await aborted.op.toolCall(drop, () => {})
    controller.abort()
    expect(await aborted.op.complete({ reason: 'interrupted' })).toEqual({ reason: 'interrupted' })
  })

  it('does not run a tool that waited for its own gates meanwhile', async () => {
    let ran = 0
    const slow: Gate = {
      id: 'slow',
      point: 'beforeToolCall',
      decide: (ctx) => (ctx.apiName === 'search' ? turn() : undefined),
    }
    const { op } = startWatched({ gates: [slow, stopping] })

    const [waited] = await Promise.all([
      op.toolCall(search, () => void ran++),
      op.toolCall(drop, () => void ran++),
    ])

    expect([waited.state, ran]).toEqual(['denied', 0])
  })

  it('begins nothing after it was stopped, however close that is to what was decided of another call', async () => {
    for (let turns = 0; turns < 40; turns++) {
      const stopsLate: Gate = {
        id: 'stops late',
        point: 'beforeToolCall',
        decide: async () => {
          for (let i = 0; i < turns; i++) await undefined
          return deny('never', { stop: true })
        },
      }
      const observes: Gate = { id: 'observes', point: 'beforeCallAgent', decide: () => undefined }
      const { op } = startWatched({ gates: [stopsLate, observes] })
      const begun: unknown[] = []
      const body = () => void begun.push(op.stopRequested)

      await Promise.allSettled([op.toolCall(drop, body), op.callAgent({ instruction: 'x' }, body)])

      expect(
        begun.filter((stop) => stop !== undefined),
        `${turns} turns`,
      ).toEqual([])
    }
  })
})

describe('a tool whose gates take their time', () => {
  const slow: Gate = { id: 'slow', point: 'beforeToolCall', decide: () => turn() }

  it('does not run when the run was aborted meanwhile', async () => {
    const controller = new AbortController()
    const { op } = startWatched({ gates: [slow], signal: controller.signal })
    let ran = 0
    const call = op.toolCall({ apiName: 'a', args: {} }, () => void ran++)

    controller.abort(new Error('enough'))

    expect((await call).state).toMatch(/errored|denied/)
    expect(ran).toBe(0)
  })

  it('does not run when the run was aborted while its approval was claimed', async () => {
    const controller = new AbortController()
    const settled: unknown[] = []
    const asking: Gate = { id: 'ask', point: 'beforeToolCall', decide: () => requireApproval() }
    const { op } = startWatched({
      gates: [asking],
      signal: controller.signal,
      approver: {
        requestApproval: async () => ({ decision: 'approve' }),
        ledger: {
          claim: async () => {
            controller.abort(new Error('enough'))
            return { state: 'run' }
          },
          settle: async (_id, result) => void settled.push(result),
        },
      },
    })
    let ran = 0

    expect(await op.toolCall({ apiName: 'a', args: {} }, () => void ran++)).toMatchObject({
      state: 'errored',
    })

    expect(ran).toBe(0)
    expect(settled).toEqual([{ ok: false, error: 'Error: enough' }])
  })

  it('does not run when the operation ended meanwhile', async () => {
    const { op, types } = startWatched({ gates: [slow] })
    let ran = 0
    const call = op.toolCall({ apiName: 'a', args: {} }, () => void ran++)
    await Promise.resolve()

    op.interrupt()

    expect((await call).state).toBe('errored')
    expect(ran).toBe(0)
    expect(types()).toEqual(['onStart', 'beforeToolCall', 'onToolCallError', 'onComplete'])
  })

  it('does not run when a human approves after the end', async () => {
    const { promise, resolve } = Promise.withResolvers<{ decision: 'approve' }>()
    const asking: Gate = { id: 'ask', point: 'beforeToolCall', decide: () => requireApproval() }
    const { op } = startWatched({ gates: [asking], approver: { requestApproval: () => promise } })
    let ran = 0
    const call = op.toolCall({ apiName: 'a', args: {} }, () => void ran++)
    await turn()

    op.interrupt()
    resolve({ decision: 'approve' })

    expect((await call).state).toBe('errored')
    expect(ran).toBe(0)
  })
})

describe('the gates of onStart', () => {
  const closed: Gate = { id: 'closed', point: 'onStart', decide: () => deny('closed today') }

  it('hold for calls outside of steps, too', async () => {
    const { op } = startWatched({ gates: [closed] })
    let ran = 0
    const run = () => void ran++

    expect(await op.toolCall({ apiName: 'a', args: {} }, run)).toMatchObject({
      state: 'denied',
      reason: 'closed today',
    })
    await expect(op.llmCall({ model: 'm', request: {} }, run)).rejects.toMatchObject({ code: 'RUN_DENIED' })
    const compaction = op.compact({ messageCount: 1, tokenCount: 1 }, run as never)
    await expect(compaction).rejects.toMatchObject({ code: 'RUN_DENIED' })
    await expect(op.step(run)).rejects.toMatchObject({ code: 'RUN_DENIED' })
    expect(ran).toBe(0)
  })

  it('decide once', async () => {
    let asked = 0
    const { op } = startWatched({ gates: [{ id: 'count', point: 'onStart', decide: () => void asked++ }] })

    await Promise.all([
      op.step(() => {}),
      op.step(() => {}),
      op.toolCall({ apiName: 'a', args: {} }, () => {}),
    ])

    expect(asked).toBe(1)
  })
})

describe('an approver', () => {
  const asking: Gate = { id: 'ask', point: 'beforeToolCall', decide: () => requireApproval() }

  it('cannot change the arguments by editing what it was shown', async () => {
    const { op } = startWatched({
      gates: [asking],
      approver: {
        requestApproval: async ({ args }) => {
          Reflect.set(args as object, 'amount', 9_999)
          return { decision: 'approve' }
        },
      },
    })

    const outcome = await op.toolCall({ apiName: 'pay', args: { amount: 1 } }, (args) => args.amount)

    expect(outcome).toMatchObject({ state: 'completed', result: 1 })
  })

  it('approves what it was shown, not what the runtime made of it meanwhile', async () => {
    const args = { amount: 1 }
    const { op } = startWatched({
      gates: [asking],
      approver: {
        requestApproval: async () => {
          args.amount = 9_999
          return { decision: 'approve' }
        },
      },
    })

    expect(await op.toolCall({ apiName: 'pay', args }, (given) => given.amount)).toMatchObject({ result: 1 })
  })

  it('is given up on when timeoutMs is over, also when it is short', async () => {
    const short: Gate = { ...asking, decide: () => requireApproval({ timeoutMs: 20 }) }
    const { op } = startWatched({
      gates: [short],
      approver: { requestApproval: () => new Promise(() => {}) },
    })

    expect(await op.toolCall({ apiName: 'pay', args: {} }, () => 'paid')).toMatchObject({
      code: 'approval_timeout',
    })
  })
})
