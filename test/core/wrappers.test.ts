import type { HookEvent, Operation } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { never, startWatched, turn } from './support.ts'

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
  compact: (op, fn) => op.compact({ messageCount: compactions++, tokenCount: 1 }, fn),
}

/** Compactions have no key: they are told apart by what they are about. */
let compactions = 0

function keyOf(event: HookEvent): unknown {
  if (event.hookType === 'beforeCompact') return event.messageCount
  if (event.hookType === 'afterCompact') return event.messagesBefore
  return 'callKey' in event ? event.callKey : event.stepIndex
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

  // A step is the runtime's own code: its calls are cut, it is not. It has tests of its own below.
  if (name !== 'step') {
    it('ends when the run is aborted, although its function ignores the signal', async () => {
      const controller = new AbortController()
      const { op, types } = startWatched({ signal: controller.signal })
      const running = wrap(op, never)
      await turn()

      controller.abort(boom)

      await expect(running).rejects.toBe(boom)
      expect(types()).toEqual(['onStart', before, onError])
    })

    it('does not begin when the run was aborted before', async () => {
      const { op, types } = startWatched({ signal: AbortSignal.abort(boom) })
      let ran = 0

      await expect(wrap(op, () => void ran++)).rejects.toBe(boom)

      expect(ran).toBe(0)
      expect(types()).toEqual(['onStart', before, onError])
    })
  }

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
    const [first, second, third] = [1, 2, 3].map(() => Promise.withResolvers<string>())
    const running = [first, second, third].map((settled) => wrap(op, () => settled?.promise))
    await turn()

    for (const [settled, value] of [[second, 'b'] as const, [third, 'c'] as const, [first, 'a'] as const]) {
      settled?.resolve(value)
      await turn()
    }

    expect(await Promise.all(running)).toEqual(['a', 'b', 'c'])
    const keys = (type: string) => events.filter(({ hookType }) => hookType === type).map(keyOf)
    const [one, two, three] = keys(before)
    expect(new Set([one, two, three]).size).toBe(3)
    expect(keys(before)).toHaveLength(3)
    expect(keys(after as string)).toEqual([two, three, one])
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

describe('a step whose run is aborted', () => {
  it('goes on until its function is done, while its calls are cut', async () => {
    const controller = new AbortController()
    const { op, types } = startWatched({ signal: controller.signal })
    const cut: unknown[] = []
    const step = op.step(async (step) => {
      cut.push((await step.toolCall({ apiName: 'tool', args: {} }, never)).state)
      cut.push(await step.llmCall({ model: 'm', request: {} }, never).catch((error) => error))
      return 'its own end'
    })
    await turn()

    controller.abort(boom)

    expect(await step).toBe('its own end')
    expect(cut).toEqual(['errored', boom])
    const calls = ['beforeToolCall', 'onToolCallError', 'beforeLlmCall', 'onLlmCallError']
    expect(types()).toEqual(['onStart', 'beforeStep', ...calls, 'afterStep'])
  })

  it('begins all the same, as a runtime may have to tidy up', async () => {
    const { op, types } = startWatched({ signal: AbortSignal.abort(boom) })

    expect(await op.step(() => 'tidied')).toBe('tidied')

    expect(types()).toEqual(['onStart', 'beforeStep', 'afterStep'])
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
