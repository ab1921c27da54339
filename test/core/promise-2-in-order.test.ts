import { type AnyHookType, HookDispatcher } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { collector, failures, type Handler, hook, never, turn } from './support.ts'

const options = failures()

describe('dispatch', () => {
  it('returns at once, whatever the handler waits for', async () => {
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [hook('beforeStep', never)])

    await dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(dispatcher.stats().pending).toBe(1)
  })

  it('can be chained like a promise that never rejects, heard or not', async () => {
    const dispatcher = new HookDispatcher(options)
    const told: string[] = []
    const chain = (type: AnyHookType) => {
      const dispatched = dispatcher.dispatch('op', type, {})
      return Promise.all([
        dispatched.catch(() => told.push('caught')),
        dispatched.then(() => told.push('then')),
        dispatched.finally(() => told.push('finally')),
      ])
    }
    const boom: Handler = () => {
      throw new Error('of the handler')
    }
    dispatcher.register('op', [hook('beforeStep', boom)])

    for (const type of ['beforeStep', 'afterStep', 'noSuchType'] as AnyHookType[]) await chain(type)

    expect(told.sort()).toEqual([...Array(3).fill('finally'), ...Array(3).fill('then')])
  })

  it('by a handler that returns it leaves the handler synchronous', () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [
      hook('beforeStep', () => dispatcher.dispatch('op', 'afterStep', {})),
      hook('afterStep', handler),
    ])

    for (let i = 0; i < 3; i++) dispatcher.dispatch('op', 'beforeStep', {})

    expect(sequences()).toEqual([1, 3, 5])
    expect(dispatcher.stats().pending).toBe(0)
  })

  it('has run a synchronous handler when it returns, so that times are exact', () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [hook('beforeStep', handler)])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(events).toMatchObject([{ hookType: 'beforeStep', operationId: 'op', sequence: 0, stepIndex: 0 }])
    expect(Math.abs((events[0]?.timestamp ?? 0) - Date.now())).toBeLessThan(60_000)
  })

  it('stamps each event when it was dispatched, not when it was delivered', async () => {
    const { events, handler } = collector()
    let clock = 100
    const dispatcher = new HookDispatcher(options)
    const op = dispatcher.startOperation({ clock: () => clock })
    const slow = async (event: Parameters<typeof handler>[0]) => {
      await turn()
      handler(event, { signal: AbortSignal.any([]) })
    }
    dispatcher.register(op.operationId, [hook('beforeStep', slow)])

    for (clock of [200, 300, 400]) dispatcher.dispatch(op.operationId, 'beforeStep', { stepIndex: 0 })
    await dispatcher.drain()

    expect(events.map(({ timestamp }) => timestamp)).toEqual([200, 300, 400])
  })
})

describe('one hook', () => {
  it('sees its events in sequence, one at a time, however long each takes', async () => {
    const seen: number[] = []
    let running = 0
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [
      hook('beforeStep', async ({ sequence }) => {
        running++
        for (let turns = 0; turns < sequence % 3; turns++) await turn()
        seen.push(sequence)
        expect(running--).toBe(1)
      }),
    ])

    for (let i = 0; i < 20; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })
    await dispatcher.drain()

    expect(seen).toEqual(Array.from({ length: 20 }, (_item, index) => index))
  })

  it('that is asynchronous only now and then still sees them in order', async () => {
    const seen: number[] = []
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [
      hook('beforeStep', ({ sequence }) => {
        if (sequence % 2 === 0) return void seen.push(sequence)
        return turn().then(() => void seen.push(sequence))
      }),
    ])

    for (let i = 0; i < 9; i++) {
      dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })
      if (i % 4 === 3) await turn()
    }
    await dispatcher.drain()

    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('keeps the order of events that another handler dispatches while one is on its way', () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(options)
    const echo = ({ sequence }: { sequence: number }) => {
      if (sequence < 4) dispatcher.dispatch('op', 'beforeStep', { stepIndex: 9 })
    }
    dispatcher.register('op', [
      hook('beforeStep', echo, { id: 'first' }),
      hook('beforeStep', handler, { id: 'second' }),
    ])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(sequences()).toEqual([0, 1, 2, 3, 4])
  })

  it('decides tool calls in order, too, when a handler dispatches another one', async () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(options)
    let inner: Promise<unknown> | undefined
    const nest = ({ sequence }: { sequence: number }) => {
      if (sequence === 0) inner = dispatcher.dispatchBeforeToolCall('op', { apiName: 'inner' })
    }
    const mocking = hook('beforeToolCall', (event) => {
      if ('apiName' in event && event.apiName === 'inner')
        (event as { mock(m: object): void }).mock({ content: 'mocked' })
    })
    dispatcher.register('op', [
      hook('beforeToolCall', nest, { id: 'first' }),
      hook('beforeToolCall', handler, { id: 'second' }),
      mocking,
    ])

    const outer = dispatcher.dispatchBeforeToolCall('op', { apiName: 'outer' })

    expect(await outer).toBeNull()
    expect(await inner).toEqual({ content: 'mocked' })
    expect(sequences()).toEqual([0, 1])
  })
})

describe('several hooks', () => {
  it('do not wait for one another', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [
      hook('beforeStep', never, { id: 'hangs' }),
      hook('beforeStep', handler, { id: 'quick' }),
    ])

    for (let i = 0; i < 3; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    expect(events).toHaveLength(3)
  })

  it('run by priority, then in the order of registration, plugins among them', () => {
    const order: string[] = []
    const log = (id: string, priority?: number) =>
      hook('beforeStep', () => void order.push(id), { id, ...(priority !== undefined && { priority }) })
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [log('a'), log('early', 1), log('b', 100)])
    dispatcher.use({ name: 'p', hooks: [log('plugin'), log('late', 101)] })
    dispatcher.register('op', [log('c')])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(order).toEqual(['early', 'a', 'b', 'plugin', 'c', 'late'])
  })

  it('each get an event of their own', () => {
    const seen: object[] = []
    const dispatcher = new HookDispatcher(options)
    dispatcher.register(
      'op',
      ['a', 'b', 'c'].map((id) => hook('afterToolCall', (event) => void seen.push(event), { id })),
    )

    dispatcher.dispatch('op', 'afterToolCall', { args: { list: [1] }, result: { x: 1 } })

    expect(seen[0]).toEqual(seen[1])
    expect(new Set(seen).size).toBe(3)
    expect(new Set(seen.map((event) => (event as { args: object }).args)).size).toBe(3)
  })

  it('take out, while firing, those that come after them', () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(options)
    const undo = dispatcher.register('op', [hook('beforeStep', handler, { id: 'victim', priority: 200 })])
    dispatcher.register('op', [hook('beforeStep', () => undo(), { id: 'remover' })])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(events).toEqual([])
  })

  it('that are registered while firing see the next event', () => {
    const { handler, sequences } = collector()
    const dispatcher = new HookDispatcher(options)
    const register = ({ sequence }: { sequence: number }) => {
      if (sequence === 0) dispatcher.register('op', [hook('beforeStep', handler, { id: 'new' })])
    }
    dispatcher.register('op', [hook('beforeStep', register)])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 1 })

    expect(sequences()).toEqual([1])
  })
})

describe('match', () => {
  const call = (dispatcher: HookDispatcher, apiName: string, identifier = 'local') =>
    dispatcher.dispatch('op', 'afterToolCall', { apiName, identifier })

  it.each([
    ['search', ['search']],
    ['se*', ['search', 'send']],
    ['crm/*', ['lookup']],
    [/^s/g, ['search', 'send']],
    [/crm\/look/, ['lookup']],
  ])('%s picks the tools by name', (match, expected) => {
    const names: unknown[] = []
    const dispatcher = new HookDispatcher(options)
    dispatcher.register('op', [
      hook('afterToolCall', (event) => void names.push((event as { apiName?: string }).apiName), { match }),
    ])

    call(dispatcher, 'search')
    call(dispatcher, 'send')
    call(dispatcher, 'lookup', 'crm')

    expect(names).toEqual(expected)
  })

  it('that throws keeps the event back and is reported', () => {
    const { list, onHookError } = failures()
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher({ onHookError })
    const match = () => {
      throw new Error('no idea')
    }
    dispatcher.register('op', [hook('afterToolCall', handler, { match })])

    call(dispatcher, 'search')

    expect(events).toEqual([])
    expect(list).toMatchObject([
      { kind: 'failed', hookType: 'afterToolCall', message: expect.stringContaining('no idea') },
    ])
  })
})
