import { HookDispatcher, type HookEvent } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { collector, failures, hook, startWatched, turn } from './support.ts'

const last = (events: HookEvent[]) => events.at(-1)

describe('the end of an operation', () => {
  it.each(['done', 'error', 'interrupted', 'max_steps', 'cost_limit', 'denied'] as const)(
    'may be %s',
    async (reason) => {
      const { op, events } = startWatched()

      expect(await op.complete({ reason, content: 'bye' })).toEqual({ reason, content: 'bye' })

      expect(last(events)).toMatchObject({ hookType: 'onComplete', reason, content: 'bye' })
    },
  )

  it('is told once, however often it is asked for', async () => {
    const { op, events, dispatcher } = startWatched()

    await Promise.all([op.complete(), op.complete(), op.fail(new Error('late'))])
    await op.complete()
    op.interrupt()
    dispatcher.interruptAll()

    expect(events.filter(({ hookType }) => hookType === 'onComplete')).toHaveLength(1)
  })

  it('is told once, also when a handler of the last events ends it again', async () => {
    const { handler, events } = collector()
    const dispatcher = new HookDispatcher(failures())
    const op = dispatcher.startOperation({})
    const again = (event: HookEvent) => {
      handler(event, { signal: new AbortController().signal })
      op.interrupt()
      void op.complete()
    }
    dispatcher.register(op.operationId, [
      hook('afterStep', again),
      hook('onError', again),
      hook('onComplete', again),
    ])
    void op.step(() => new Promise(() => {}))
    await turn()

    await op.fail(new Error('first'))

    expect(events.map(({ hookType }) => hookType)).toEqual(['afterStep', 'onError', 'onComplete'])
    expect(last(events)).toMatchObject({ reason: 'error', errorMessage: 'first' })
  })

  it('tells onError before onComplete when the run failed', async () => {
    const { op, types, events } = startWatched()
    const error = Object.assign(new RangeError('too far'), { code: 'E_FAR' })

    await op.fail(error)

    expect(types()).toEqual(['onStart', 'onError', 'onComplete'])
    expect(events[1]).toMatchObject({ error, errorType: 'E_FAR', errorMessage: 'too far' })
    expect(events[2]).toMatchObject({ reason: 'error', errorType: 'E_FAR', errorMessage: 'too far' })
  })

  it('ends what is open first, the youngest first', async () => {
    const { op, types } = startWatched()
    void op.step((step) => step.toolCall({ apiName: 'slow', args: {} }, () => new Promise(() => {})))
    await turn()

    await op.complete({ reason: 'interrupted' })

    expect(types().slice(-3)).toEqual(['onToolCallError', 'afterStep', 'onComplete'])
  })

  it('ends children before their parents when everything is interrupted', async () => {
    const { op, events, dispatcher } = startWatched()
    dispatcher.startOperation({ operationId: 'child', parent: op.asParent() })

    dispatcher.interruptAll()

    const ends = events.filter(({ hookType }) => hookType === 'onComplete')
    expect(ends.map(({ operationId }) => operationId)).toEqual(['child', 'op'])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('sums up what was done', async () => {
    const { op, events } = startWatched({ priceOf: ({ usage }) => usage.outputTokens * 0.5 })
    await op.step(async (step) => {
      const usage = { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 }
      await step.llmCall({ model: 'm', request: {} }, () => ({ content: 'x', usage }))
      await step.llmCall({ model: 'm', request: {} }, () => ({ content: 'y', usage }))
      await step.toolCall({ apiName: 'a', args: {} }, () => 1)
    })

    await op.complete()

    expect(last(events)).toMatchObject({
      totals: {
        steps: 1,
        llmCalls: 2,
        toolCalls: 1,
        usage: { inputTokens: 20, outputTokens: 4, cachedInputTokens: 8 },
        costUsd: 2,
        durationMs: expect.any(Number),
      },
    })
    expect(events.find(({ hookType }) => hookType === 'afterStep')).toMatchObject({
      content: 'y',
      costUsd: 2,
    })
  })

  it('is not harmed by a price that throws or is no number', async () => {
    for (const priceOf of [
      () => {
        throw new Error('unknown model')
      },
      () => Number.NaN,
    ]) {
      const { op } = startWatched({ priceOf })
      await op.llmCall({ model: 'new', request: {} }, () => ({
        content: 'x',
        usage: { inputTokens: 1, outputTokens: 1 },
      }))
      expect(op.totals).not.toHaveProperty('costUsd')
      await op.complete()
    }
  })
})
