import { HookDispatcher, type HookEvent, type Operation } from 'hookspan'
import { type Decision, deny, type Gate, type GatePoint, requireApproval } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { collector, failures, hook, never, startWatched, turn } from './support.ts'

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

describe('a call on which gates decide while its run ends', () => {
  const CALLS: Record<string, [GatePoint, string[], (op: Operation, body: () => never) => Promise<unknown>]> =
    {
      tool: [
        'beforeToolCall',
        ['beforeToolCall', 'onToolCallError'],
        (op, body) => op.toolCall({ apiName: 'a', args: {} }, body),
      ],
      llm: [
        'beforeLlmCall',
        ['beforeLlmCall', 'onLlmCallError'],
        (op, body) => op.llmCall({ model: 'm', request: {} }, body),
      ],
      agent: [
        'beforeCallAgent',
        ['beforeCallAgent', 'onCallAgentError'],
        (op, body) => op.callAgent({ instruction: 'x' }, body),
      ],
      compaction: [
        'beforeCompact',
        ['beforeCompact', 'onCompactError'],
        (op, body) => op.compact({ messageCount: 1, tokenCount: 1 }, body),
      ],
    }

  it.each(Object.keys(CALLS))('is told as begun and as ended, and does not run: %s', async (name) => {
    const [point, pair, make] = CALLS[name] as (typeof CALLS)[string]
    const { promise: decided, resolve } = Promise.withResolvers<undefined>()
    const { promise: ending, resolve: endNow } = Promise.withResolvers<undefined>()
    const slow: Gate = { id: 'slow', point, decide: () => decided }
    const last: Gate = { id: 'last', point: 'beforeComplete', decide: () => ending }
    let asked = 0
    const human: Gate = { id: 'human', point, decide: () => requireApproval() }
    const { op, types } = startWatched({
      gates: [slow, last, human],
      approver: { requestApproval: async () => ({ decision: asked++ < 9 ? 'approve' : 'reject' }) },
    })
    let ran = 0
    const call = make(op, (() => void ran++) as never).catch(() => {})
    await turn()

    const complete = op.complete()
    // The call is decided while the run is not over: its own gates are still asked.
    resolve(undefined)
    await call
    endNow(undefined)
    await complete

    expect([ran, asked]).toEqual([0, 0])
    expect(types()).toEqual(['onStart', ...pair, 'onComplete'])
  })
})

describe('the end of a run that was aborted, under a gate that takes a moment', () => {
  async function ended(content: string | undefined, answer: Decision | undefined) {
    const controller = new AbortController()
    let asked = 0
    const decide = async () => {
      asked++
      await turn()
      return answer
    }
    const { op, events } = startWatched({
      gates: [{ id: 'last', point: 'beforeComplete', decide }],
      signal: controller.signal,
    })
    controller.abort()
    const result = await op.complete({ reason: 'interrupted', ...(content !== undefined && { content }) })
    expect(last(events)).toMatchObject({ hookType: 'onComplete', reason: result.reason })
    return { asked, result }
  }

  it('is decided on where the run has said something', async () => {
    expect(await ended('so far', undefined)).toEqual({
      asked: 1,
      result: { reason: 'interrupted', content: 'so far' },
    })
    const { result } = await ended('so far', deny('secret'))
    expect(result).toMatchObject({ reason: 'denied', refusal: { reason: 'secret' } })
    expect(result).not.toHaveProperty('content')
  })

  it('is that of any interrupted run where it has said nothing', async () => {
    expect(await ended(undefined, deny('secret'))).toEqual({ asked: 0, result: { reason: 'interrupted' } })
  })
})

describe('a call that outlives its step', () => {
  it('goes on and ends by itself', async () => {
    const { op, types } = startWatched()
    const { promise, resolve } = Promise.withResolvers<object>()
    let agent: Promise<unknown> = never()
    await op.step((step) => {
      agent = step.callAgent({ agentName: 'a', instruction: 'x' }, () => promise)
    })
    await turn()

    resolve({ content: 'found' })

    expect(await agent).toEqual({ content: 'found' })
    expect(types()).toEqual(['onStart', 'beforeStep', 'beforeCallAgent', 'afterStep', 'afterCallAgent'])
  })
})

it('an operation does not count calls that are made after its end', async () => {
  const { op } = startWatched()
  await op.complete()

  await op.toolCall({ apiName: 'late', args: {} }, () => {})

  expect(op.totals.toolCalls).toBe(0)
})
