import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type Instrument } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { ALL_TYPES, collector, failures, hook, hooksOfEveryType } from './support.ts'

describe('a runtime that exists already', () => {
  it('registers, dispatches and unregisters, and needs no Operation', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op-1', hooksOfEveryType(handler))

    for (const type of ALL_TYPES) dispatcher.dispatch('op-1', type, { stepIndex: 3, agentName: 'mine' })
    dispatcher.unregister('op-1')
    await dispatcher.drain('op-1')

    expect(events.map(({ hookType }) => hookType)).toEqual(ALL_TYPES)
    expect(events).toMatchObject(
      ALL_TYPES.map((hookType, sequence) => ({
        hookType,
        sequence,
        operationId: 'op-1',
        agentName: 'mine',
        stepIndex: 3,
      })),
    )
  })

  it('says itself whose child the operation is', () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher()
    dispatcher.register('child', [hook('beforeStep', handler)])

    dispatcher.dispatch('child', 'beforeStep', {
      stepIndex: 0,
      parentOperationId: 'p',
      rootOperationId: 'r',
      userId: 'u',
    })

    expect(events[0]).toMatchObject({
      operationId: 'child',
      parentOperationId: 'p',
      rootOperationId: 'r',
      userId: 'u',
    })
  })

  it('cannot claim to be another operation, type or place in the sequence', () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher()
    dispatcher.register('op', [hook('beforeStep', handler)])

    dispatcher.dispatch('op', 'beforeStep', {
      operationId: 'x',
      hookType: 'onError',
      sequence: 99,
      schemaVersion: '9',
    })

    expect(events[0]).toMatchObject({
      operationId: 'op',
      hookType: 'beforeStep',
      sequence: 0,
      schemaVersion: '1.0',
    })
  })

  it('costs nothing and keeps nothing where nobody listens', async () => {
    const dispatcher = new HookDispatcher()

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(await dispatcher.dispatchBeforeToolCall('op', {})).toBeNull()
    expect(dispatcher.stats()).toMatchObject({ operations: 0, dispatched: 0 })
  })

  it('knows whether anybody listens', () => {
    const dispatcher = new HookDispatcher()
    expect(dispatcher.hasHooks('op')).toBe(false)
    dispatcher.register('op', [hook('beforeStep', () => {})])
    const used = dispatcher.use({ name: 'p', hooks: [hook('onError', () => {})] })

    expect([
      dispatcher.hasHooks('op'),
      dispatcher.hasHooks('op', 'beforeStep'),
      dispatcher.hasHooks('op', 'onError'),
    ]).toEqual([true, true, true])
    expect([dispatcher.hasHooks('op', 'afterStep'), dispatcher.hasHooks('other', 'onError')]).toEqual([
      false,
      true,
    ])
    used[Symbol.dispose]()
    expect([dispatcher.hasHooks('op', 'onError'), dispatcher.hasHooks('other')]).toEqual([false, false])
  })

  it('ends in the eyes of plugins when it unregisters, when it shuts down, and when it is swept', async () => {
    const released: unknown[] = []
    const instrument: Instrument = {
      start: () => undefined,
      onRelease: (operationId, { abandoned }) => void released.push([operationId, abandoned]),
    }
    const dispatcher = new HookDispatcher({ idleTimeoutMs: 20, ...failures() })
    dispatcher.use({ name: 'tracer', instrument })
    const { events, handler } = collector()
    for (const id of ['a', 'b']) dispatcher.register(id, [hook('onComplete', handler)])

    dispatcher.unregister('a')
    await dispatcher.shutdown()
    dispatcher.register('c', [hook('onComplete', handler)])
    await expect.poll(() => dispatcher.stats().operations).toBe(0)

    expect(released).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
    ])
    expect(events).toMatchObject([
      { operationId: 'b', reason: 'interrupted' },
      { operationId: 'c', reason: 'interrupted', abandoned: true },
    ])
  })

  it('tells plugins raw events, which no hook can change', () => {
    const kept: unknown[] = []
    const args = { q: 1 }
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'tracer',
      instrument: { start: () => undefined, onEvent: (event) => void kept.push(event) },
    })
    dispatcher.register('op', [
      hook('afterToolCall', (event) => {
        Reflect.set(event, 'apiName', 'vandal')
        Reflect.set((event as { args: object }).args, 'q', 2)
      }),
    ])

    dispatcher.dispatch('op', 'afterToolCall', { apiName: 'search', args })

    expect(kept).toMatchObject([{ apiName: 'search', args: { q: 1 } }])
    expect((kept[0] as { args: unknown }).args).toBe(args)
  })
})

it('knows sixteen types, and four more', () => {
  expect(HOOK_TYPES).toHaveLength(16)
  expect(EXTENDED_HOOK_TYPES).toEqual(['onStart', 'beforeLlmCall', 'afterLlmCall', 'onLlmCallError'])
  expect(new Set(ALL_TYPES).size).toBe(20)
})
