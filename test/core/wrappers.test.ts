import type { HookEvent, Operation } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { startWatched, turn } from './support.ts'

const boom = new Error('boom')

/** What a function may do, and what its caller sees of it. */
const RESULTS: Record<string, { run: () => unknown; gives?: unknown; throws?: unknown }> = {
  'returns a value': { run: () => 'value', gives: 'value' },
  'returns nothing': { run: () => undefined, gives: undefined },
  'throws at once': {
    run: () => {
      throw boom
    },
    throws: boom,
  },
  'throws what is no error': {
    run: () => {
      throw 'text'
    },
    throws: 'text',
  },
  resolves: {
    run: async () => {
      await turn()
      return 'value'
    },
    gives: 'value',
  },
  rejects: {
    run: async () => {
      await turn()
      throw boom
    },
    throws: boom,
  },
  'returns a thenable': { run: () => ({ then: (ok: (v: string) => void) => ok('value') }), gives: 'value' },
  'returns a thenable that throws': {
    run: () => ({
      then() {
        throw boom
      },
    }),
    throws: boom,
  },
  'returns an object whose then cannot be read': {
    run: () => ({
      get then() {
        throw boom
      },
    }),
    throws: boom,
  },
}

/** Each wrapper, called with a function of the table; gives the value or throws what the caller sees. */
const WRAPPERS: Record<string, (op: Operation, fn: () => never) => Promise<unknown>> = {
  step: (op, fn) => op.step(fn),
  llmCall: (op, fn) => op.llmCall({ model: 'm', request: {} }, fn),
  toolCall: async (op, fn) => {
    const outcome = await op.toolCall({ apiName: 'tool', args: {} }, fn)
    if (outcome.state === 'errored') throw outcome.error
    return 'result' in outcome ? outcome.result : outcome
  },
  callAgent: (op, fn) => op.callAgent({ agentName: 'a', instruction: 'x' }, fn),
  compact: (op, fn) => op.compact({ messageCount: 1, tokenCount: 1 }, fn),
}

const PAIRS: Record<string, [string, string[]]> = {
  step: ['beforeStep', ['afterStep']],
  llmCall: ['beforeLlmCall', ['afterLlmCall', 'onLlmCallError']],
  toolCall: ['beforeToolCall', ['afterToolCall', 'onToolCallError']],
  callAgent: ['beforeCallAgent', ['afterCallAgent', 'onCallAgentError']],
  compact: ['beforeCompact', ['afterCompact', 'onCompactError']],
}

describe.each(Object.keys(WRAPPERS))('%s', (name) => {
  const wrap = WRAPPERS[name] as (op: Operation, fn: () => unknown) => Promise<unknown>
  const [before, [after, onError = after]] = PAIRS[name] as [string, [string, string?]]

  it.each(Object.keys(RESULTS))(
    'gives its caller what a function that %s gives, and pairs its events',
    async (row) => {
      const { run, gives, throws } = RESULTS[row] as { run: () => unknown; gives?: unknown; throws?: unknown }
      const { op, types } = startWatched()

      const seen = await wrap(op, run).then(
        (value) => ({ value }),
        (error) => ({ error }),
      )

      expect(seen).toEqual(throws === undefined ? { value: gives } : { error: throws })
      if (throws !== undefined) expect((seen as { error: unknown }).error).toBe(throws)
      expect(types()).toEqual(['onStart', before, throws === undefined ? after : onError])
    },
  )

  it('ends when the run is aborted, although its function ignores the signal', async () => {
    const controller = new AbortController()
    const { op, types } = startWatched({ signal: controller.signal })
    const endless = new Promise<never>(() => {})
    const running = name === 'step' || name === 'compact' ? undefined : wrap(op, () => endless)

    controller.abort(boom)

    // A step and a compaction are the runtime's own code: their calls are cut, they themselves are not.
    if (running === undefined) return
    await expect(running).rejects.toBe(boom)
    expect(types()).toEqual(['onStart', before, onError])
  })

  it.each(['interruptAll', 'shutdown', 'complete', 'fail'])(
    'ends before its operation does by %s',
    async (how) => {
      const { op, dispatcher, events, types } = startWatched()
      const { promise, resolve } = Promise.withResolvers<unknown>()
      const running = wrap(op, () => promise)
      await turn()

      if (how === 'interruptAll') dispatcher.interruptAll()
      else if (how === 'shutdown') await dispatcher.shutdown({ timeoutMs: 100 })
      else if (how === 'complete') await op.complete()
      else await op.fail(boom)

      const ended = ['onStart', before, onError, ...(how === 'fail' ? ['onError'] : []), 'onComplete']
      expect(types()).toEqual(ended)
      expect(events[2]).toMatchObject({ errorType: 'AbortError' })
      resolve('late')
      await running
      await turn()
      expect(types()).toEqual(ended)
    },
  )

  it('keeps calls that run at once apart', async () => {
    const { op, events } = startWatched()

    const values = await Promise.all(
      [30, 10, 20].map((ms) => wrap(op, () => new Promise((resolve) => setTimeout(() => resolve(ms), ms)))),
    )

    expect(values).toEqual([30, 10, 20])
    const types = events.map(({ hookType }) => hookType)
    expect(types.filter((type) => type === before)).toHaveLength(3)
    expect(types.filter((type) => type === after)).toHaveLength(3)
    if (name === 'compact') return
    const key = (event: HookEvent) => ('callKey' in event ? event.callKey : event.stepIndex)
    const keys = (type: string) => events.filter(({ hookType }) => hookType === type).map(key)
    expect(new Set(keys(before)).size).toBe(3)
    expect(keys(after as string).sort()).toEqual(keys(before).sort())
  })

  it('refuses to run after the end', async () => {
    const { op, types } = startWatched()
    await op.complete()
    let ran = 0

    await expect(wrap(op, () => void ran++)).rejects.toMatchObject({ code: 'OPERATION_ENDED' })

    expect(ran).toBe(0)
    expect(types()).toEqual(['onStart', 'onComplete'])
  })
})

describe('a tool that is an async generator', () => {
  it.each([
    [
      'its return value',
      async function* () {
        yield 1
        return 'end'
      },
      'end',
    ],
    [
      'the last value it yields where it returns none',
      async function* () {
        yield 1
        yield 2
      },
      2,
    ],
    ['nothing where there is nothing', async function* () {}, undefined],
  ])('gives %s', async (_name, tool, expected) => {
    const { op } = startWatched()

    expect(await op.toolCall<object, unknown>({ apiName: 'g', args: {} }, tool)).toMatchObject({
      state: 'completed',
      result: expected,
    })
  })

  it('tells each value on the way', async () => {
    const progress: unknown[] = []
    const { op } = startWatched()
    const tool = async function* () {
      yield 'a'
      yield 'b'
      return 'c'
    }

    await op.toolCall({ apiName: 'g', args: {}, onProgress: (value) => void progress.push(value) }, tool)

    expect(progress).toEqual(['a', 'b'])
  })

  it('does not fail by a listener to its progress that throws', async () => {
    const { op, types } = startWatched()
    const onProgress = () => {
      throw boom
    }

    const outcome = await op.toolCall({ apiName: 'g', args: {}, onProgress }, async function* () {
      yield 1
      return 'end'
    })

    expect(outcome).toMatchObject({ state: 'completed', result: 'end' })
    expect(types()).toContain('afterToolCall')
  })

  it('that throws mid-way fails the call with that error', async () => {
    const { op } = startWatched()

    const outcome = await op.toolCall({ apiName: 'g', args: {} }, async function* () {
      yield 1
      throw boom
    })

    expect(outcome).toMatchObject({ state: 'errored', error: boom })
  })

  it('is closed when the run is aborted mid-way', async () => {
    const controller = new AbortController()
    const { op } = startWatched({ signal: controller.signal })
    let closed = false

    const outcome = await op.toolCall({ apiName: 'g', args: {} }, async function* () {
      try {
        yield 1
        controller.abort(boom)
        yield 2
        yield 3
      } finally {
        closed = true
      }
    })
    await turn()

    expect(outcome).toMatchObject({ state: 'errored', error: boom })
    expect(closed).toBe(true)
  })
})
