import { HookDispatcher } from 'hookspan'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { failures, hook, never, turn } from './support.ts'

const step = (dispatcher: HookDispatcher, times = 1) => {
  for (let i = 0; i < times; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })
}

describe('a slow handler', () => {
  it('loses the oldest events past maxPending, and that is counted and reported once', async () => {
    const { list, onHookError } = failures()
    const seen: number[] = []
    const dispatcher = new HookDispatcher({ onHookError })
    const slow = async ({ sequence }: { sequence: number }) => {
      await turn()
      seen.push(sequence)
    }
    dispatcher.register('op', [hook('beforeStep', slow, { id: 'slow', maxPending: 3 })])

    step(dispatcher, 10)
    await dispatcher.drain()

    expect(seen).toEqual([0, 7, 8, 9])
    expect(dispatcher.stats()).toMatchObject({ dispatched: 10, delivered: 4, dropped: 6, pending: 0 })
    expect(list).toMatchObject([{ kind: 'dropped', hookId: 'slow', count: 6, operationId: 'op' }])
    expect(list[0]?.message).toMatch(/"slow".*6 events.*maxPending/)
  })

  it('is reported once per burst', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [hook('beforeStep', turn, { maxPending: 1 })])

    step(dispatcher, 5)
    await dispatcher.drain()
    step(dispatcher, 4)
    await dispatcher.drain()

    expect(list.map(({ kind, count }) => [kind, count])).toEqual([
      ['dropped', 3],
      ['dropped', 2],
    ])
  })

  it('drops nothing by default before 1 000 events wait', async () => {
    const { list, onHookError } = failures()
    let seen = 0
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [hook('beforeStep', () => Promise.resolve().then(() => void seen++))])

    step(dispatcher, 1_001)
    expect(dispatcher.stats().pending).toBe(1_001)
    await dispatcher.drain()

    expect([seen, list]).toEqual([1_001, []])
  })

  it('keeps what waits bounded while it never catches up', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [hook('beforeStep', turn, { maxPending: 10 })])

    for (let i = 0; i < 2_000; i++) {
      step(dispatcher, 3)
      if (i % 10 === 0) await turn()
      expect(dispatcher.stats().pending).toBeLessThanOrEqual(11)
    }
    await dispatcher.drain()

    const { dispatched, delivered, dropped } = dispatcher.stats()
    expect(delivered + dropped).toBe(dispatched)
  })
})

describe('a handler past its timeoutMs', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('is reported, gets its signal aborted, and its queue goes on', async () => {
    const { list, onHookError } = failures()
    const seen: [number, AbortSignal][] = []
    const dispatcher = new HookDispatcher({ onHookError })
    const hang = ({ sequence }: { sequence: number }, { signal }: { signal: AbortSignal }) => {
      seen.push([sequence, signal])
      return sequence === 0 ? never() : undefined
    }
    dispatcher.register('op', [hook('beforeStep', hang, { id: 'hangs', timeoutMs: 200 })])

    step(dispatcher, 3)
    await vi.advanceTimersByTimeAsync(199)
    expect(seen).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)

    expect(seen.map(([sequence]) => sequence)).toEqual([0, 1, 2])
    expect(seen[0]?.[1].reason).toMatchObject({
      name: 'TimeoutError',
      message: 'Hook "hangs" exceeded 200 ms.',
    })
    expect(seen[1]?.[1].aborted).toBe(false)
    expect(list).toMatchObject([
      { kind: 'timed_out', hookId: 'hangs', hookType: 'beforeStep', operationId: 'op' },
    ])
    expect(dispatcher.stats()).toMatchObject({ timedOut: 1, delivered: 2, failed: 0, pending: 0 })
  })

  it('counts 30 seconds by default', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [hook('beforeStep', never)])

    step(dispatcher)
    await vi.advanceTimersByTimeAsync(29_999)
    expect(list).toEqual([])
    await vi.advanceTimersByTimeAsync(1)

    expect(list).toMatchObject([{ kind: 'timed_out' }])
  })

  it('is not reported a second time when it fails after that', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    const late = () => new Promise((_resolve, reject) => setTimeout(() => reject(new Error('late')), 100))
    dispatcher.register('op', [hook('beforeStep', late, { timeoutMs: 10 })])

    step(dispatcher)
    await vi.advanceTimersByTimeAsync(200)

    expect(list.map(({ kind }) => kind)).toEqual(['timed_out'])
  })

  it('may ask for its signal late and finds it aborted', async () => {
    let signal: AbortSignal | undefined
    const dispatcher = new HookDispatcher(failures())
    const late = async (_event: unknown, context: { signal: AbortSignal }) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      signal = context.signal
    }
    dispatcher.register('op', [hook('beforeStep', late, { timeoutMs: 10 })])

    step(dispatcher)
    await vi.advanceTimersByTimeAsync(100)

    expect(signal?.aborted).toBe(true)
  })

  it('never comes with timeoutMs: Infinity', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError, idleTimeoutMs: Infinity })
    dispatcher.register('op', [hook('beforeStep', never, { timeoutMs: Infinity, maxPending: 1 })])

    step(dispatcher, 3)
    await vi.advanceTimersByTimeAsync(86_400_000)
    expect(list).toEqual([])
    step(dispatcher)

    // What it loses meanwhile is told all the same.
    expect(list).toMatchObject([{ kind: 'dropped', count: 2 }])
  })

  it('that hangs on every event tells what it loses while it does', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [hook('beforeStep', never, { maxPending: 2 })])

    step(dispatcher, 10)
    await vi.advanceTimersByTimeAsync(30_000)

    expect(list).toMatchObject([{ kind: 'timed_out' }, { kind: 'dropped', count: 7 }])
  })
})
