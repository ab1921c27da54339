import { HookDispatcher } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { ALL_TYPES, collector, everything, failures, hooksOfEveryType } from './support.ts'

describe('a run that does everything', () => {
  it('fires each of the twenty hook types', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'all', hooks: hooksOfEveryType(handler) })

    await everything(dispatcher)

    expect(new Set(events.map(({ hookType }) => hookType))).toEqual(new Set(ALL_TYPES))
  })

  it('numbers the events of each operation without a gap, from 0', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'all', hooks: hooksOfEveryType(handler) })

    await everything(dispatcher)

    for (const operationId of ['good', 'child', 'bad']) {
      const own = events.filter((event) => event.operationId === operationId)
      expect(own.map(({ sequence }) => sequence)).toEqual(own.map((_event, index) => index))
      expect(own.at(-1)?.hookType).toBe('onComplete')
    }
  })

  it('pairs every start with one end', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'all', hooks: hooksOfEveryType(handler) })

    await everything(dispatcher)

    const count = (...types: string[]) => events.filter(({ hookType }) => types.includes(hookType)).length
    expect(count('onStart')).toBe(count('onComplete'))
    expect(count('beforeStep')).toBe(count('afterStep'))
    expect(count('beforeLlmCall')).toBe(count('afterLlmCall', 'onLlmCallError'))
    expect(count('beforeToolCall')).toBe(count('afterToolCall', 'onToolCallError'))
    expect(count('beforeHumanIntervention')).toBe(count('afterHumanIntervention'))
    expect(count('beforeCallAgent')).toBe(count('afterCallAgent', 'onCallAgentError'))
    expect(count('beforeCompact')).toBe(count('afterCompact', 'onCompactError'))
  })

  it('tells of each event who it belongs to', async () => {
    const { events, handler } = collector()
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'all', hooks: hooksOfEveryType(handler) })

    await everything(dispatcher)

    for (const event of events) {
      const child = event.operationId === 'child'
      expect(event).toMatchObject({
        schemaVersion: '1.0',
        rootOperationId: child ? 'good' : event.operationId,
        userId: 'u1',
        conversationId: 'c1',
        timestamp: expect.any(Number),
      })
      expect(event.parentOperationId).toBe(child ? 'good' : undefined)
    }
  })

  it('leaves nothing behind', async () => {
    const dispatcher = new HookDispatcher(failures())

    await everything(dispatcher)

    expect(dispatcher.stats()).toMatchObject({ operations: 0, hooks: 0, pending: 0 })
  })
})
