import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collector, failures, hook, hooksOfEveryType, never, turn } from './support.ts'

const EMPTY = { operations: 0, hooks: 0, pending: 0 }

describe('after unregister and drain', () => {
  it('the dispatcher holds nothing of the operation', async () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(failures())
    const slow = async (...args: Parameters<typeof handler>) => {
      await turn()
      handler(...args)
    }
    dispatcher.register('op', [hook('beforeStep', slow)])
    for (let i = 0; i < 3; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    dispatcher.unregister('op')
    expect(dispatcher.stats()).toMatchObject({ operations: 0, pending: 3 })
    await dispatcher.drain('op')

    // What was dispatched before is still delivered.
    expect(sequences()).toEqual([0, 1, 2])
    expect(dispatcher.stats()).toMatchObject(EMPTY)
    expect(dispatcher.hasHooks('op')).toBe(false)
  })

  it('an operation of the same id begins anew', () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(failures())
    for (let i = 0; i < 2; i++) {
      dispatcher.register('op', [hook('beforeStep', handler)])
      dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
      dispatcher.unregister('op')
    }

    expect(sequences()).toEqual([0, 0])
  })

  it('an Operation that runs loses its hooks, and what they were told before arrives', async () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(failures())
    const op = dispatcher.startOperation({ operationId: 'op' })
    dispatcher.register('op', [
      hook('beforeStep', (event, context) => turn().then(() => handler(event, context))),
    ])
    for (let i = 0; i < 3; i++) await op.step(() => {})

    dispatcher.unregister('op')
    await dispatcher.drain()
    await op.step(() => {})

    expect(sequences()).toHaveLength(3)
    expect(dispatcher.stats()).toMatchObject({ operations: 1, hooks: 0, pending: 0 })
    await op.complete()
    expect(dispatcher.stats()).toMatchObject(EMPTY)
  })
})

describe('what register returns', () => {
  it('takes out exactly these hooks, once', () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    const undo = dispatcher.register('op', [hook('beforeStep', () => {}, { id: 'a' })])
    dispatcher.register('op', [hook('beforeStep', handler, { id: 'b' })])

    undo()
    undo()
    dispatcher.register('op', [hook('beforeStep', handler, { id: 'a' })])
    undo()
    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(events).toHaveLength(2)
  })

  it('keeps nothing of an empty list', () => {
    const dispatcher = new HookDispatcher(failures())

    for (let i = 0; i < 5_000; i++) dispatcher.register(`op-${i}`, [])()
    for (let i = 0; i < 5_000; i++) dispatcher.register(`op-${i}`, [])

    expect(dispatcher.stats()).toMatchObject(EMPTY)
  })

  it('forgets the operation with its last hook', () => {
    const dispatcher = new HookDispatcher(failures())
    const undo = dispatcher.register('op', [hook('beforeStep', () => {})])

    undo()

    expect(dispatcher.stats()).toMatchObject(EMPTY)
  })

  it('discards what waits for them', async () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(failures())
    const undo = dispatcher.register('op', [
      hook('beforeStep', (event, context) => turn().then(() => handler(event, context))),
    ])
    for (let i = 0; i < 3; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    undo()
    await dispatcher.drain()

    expect(sequences()).toEqual([0])
    expect(dispatcher.stats()).toMatchObject(EMPTY)
  })
})

describe('drain', () => {
  it('waits for what handlers go on with after they were synchronous for a while', async () => {
    const done: number[] = []
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [
      hook('beforeStep', ({ sequence }) => {
        if (sequence > 0) return turn().then(() => void done.push(sequence))
        dispatcher.dispatch('op', 'beforeStep', { stepIndex: 1 })
      }),
    ])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
    expect(dispatcher.stats().pending).toBe(1)

    expect(await dispatcher.drain()).toMatchObject({ drained: true, pending: 0 })
    expect(done).toEqual([1])
  })

  it('waits for one operation when told so', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('hangs', [hook('beforeStep', never)])
    dispatcher.register('quick', [hook('beforeStep', turn)])
    for (const id of ['hangs', 'quick']) dispatcher.dispatch(id, 'beforeStep', { stepIndex: 0 })

    expect(await dispatcher.drain('quick')).toMatchObject({ drained: true, pending: 0 })
  })

  it('gives up after timeoutMs and says what is left', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [hook('beforeStep', never)])
    for (let i = 0; i < 3; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    const report = await dispatcher.drain('op', { timeoutMs: 20 })

    expect(report).toMatchObject({ drained: false, pending: 3 })
    expect(report.waitedMs).toBeGreaterThanOrEqual(15)
  })

  it('resolves at once when nothing is pending', async () => {
    expect(await new HookDispatcher().drain('unknown')).toMatchObject({ drained: true, pending: 0 })
  })
})

describe('operations that only plugins listen to', () => {
  it('need no unregister: they are over with onComplete', () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'p', hooks: hooksOfEveryType(handler) })

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
    dispatcher.dispatch('op', 'onComplete', { reason: 'done' })

    expect(events.map(({ sequence }) => sequence)).toEqual([0, 1])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('tell late events in sequence, and nothing is kept of them', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'p', hooks: hooksOfEveryType(handler) })
    dispatcher.dispatch('op', 'onComplete', { reason: 'done' })

    dispatcher.dispatch('op', 'afterToolCall', {})
    await dispatcher.dispatchBeforeToolCall('op', {})

    expect(events.map(({ hookType, sequence }) => [hookType, sequence])).toEqual([
      ['onComplete', 0],
      ['afterToolCall', 1],
      ['beforeToolCall', 2],
    ])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('are not brought back to life by events after unregister or the end of an Operation', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'p', hooks: [hook('beforeStep', handler)] })
    dispatcher.register('low', [hook('afterStep', () => {})])
    dispatcher.unregister('low')
    await dispatcher.startOperation({ operationId: 'high' }).complete()

    for (const id of ['low', 'high']) dispatcher.dispatch(id, 'beforeStep', { stepIndex: 0 })

    expect(events).toEqual([])
    expect(dispatcher.stats().operations).toBe(0)
  })
})

describe('an operation whose owner died', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('ends as abandoned after the idle time', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher({ idleTimeoutMs: 1_000, ...failures() })
    dispatcher.startOperation({ operationId: 'high', hooks: [hook('onComplete', handler)] })
    dispatcher.register('low', [hook('onComplete', handler)])

    await vi.advanceTimersByTimeAsync(900)
    expect(events).toEqual([])
    await vi.advanceTimersByTimeAsync(600)

    expect(events).toMatchObject([
      { operationId: 'high', reason: 'interrupted', abandoned: true },
      { operationId: 'low', reason: 'interrupted', abandoned: true },
    ])
    expect(dispatcher.stats()).toMatchObject({ ...EMPTY, abandoned: 2 })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not end while it, or a child of it, does anything', async () => {
    const dispatcher = new HookDispatcher({ idleTimeoutMs: 1_000, ...failures() })
    const parent = dispatcher.startOperation({})
    const child = dispatcher.startOperation({ parent: parent.asParent() })

    for (let i = 0; i < 10; i++) {
      await child.step(() => {})
      await vi.advanceTimersByTimeAsync(700)
    }

    expect([parent.ended, child.ended]).toEqual([false, false])
    await vi.advanceTimersByTimeAsync(1_500)
    expect([parent.ended, child.ended]).toEqual([true, true])
  })

  it('does not end because the machine slept', async () => {
    const dispatcher = new HookDispatcher({ idleTimeoutMs: 1_000, ...failures() })
    const op = dispatcher.startOperation({})

    await vi.advanceTimersByTimeAsync(300)
    vi.setSystemTime(Date.now() + 86_400_000)
    await vi.advanceTimersByTimeAsync(300)

    expect(op.ended).toBe(false)
  })

  it('tells onComplete once when its runtime did so and forgot to unregister', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher({ idleTimeoutMs: 1_000, ...failures() })
    dispatcher.register('op', [hook('onComplete', handler)])
    dispatcher.dispatch('op', 'onComplete', { reason: 'done' })

    await vi.advanceTimersByTimeAsync(5_000)

    expect(events).toHaveLength(1)
    expect(dispatcher.stats()).toMatchObject(EMPTY)
  })
})

/** Runs one of the programs beside this test in a process of its own. */
function run(program: string, ...flags: string[]): string {
  const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const args = [...flags, '--import', path('../support/public-names.ts'), path(`./processes/${program}`)]
  return execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
}

it('leaves nothing on the heap: operations, events, handlers, arguments, results', () => {
  const report = JSON.parse(run('retain.ts', '--expose-gc'))

  expect(report.alive).toEqual([])
  expect(report.stats).toMatchObject(EMPTY)
  // One kept object per operation would be 500 bytes or more.
  expect(report.bytesPerOperation).toBeLessThan(60)
})

it('what a tool of a run without a signal hangs on its own is kept by no other call', async () => {
  const op = new HookDispatcher().startOperation()
  const signals: AbortSignal[] = []
  for (let call = 0; call < 2; call++) {
    await op.toolCall({ apiName: 'listens', args: {} }, (_args, context) => {
      expect(context.signal).toBe(context.signal)
      signals.push({ ...context }.signal)
    })
  }
  await op.complete()

  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
  expect(signals[0]).not.toBe(signals[1])
})

it('lets the process end when nothing but observers is left', () => {
  // A timer that holds it would hold it for longer than `run` waits.
  expect(run('exit.ts')).toBe('tool ran: real\n')
})
