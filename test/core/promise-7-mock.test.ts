import { type BeforeToolCallEvent, HookDispatcher, type HookEvent } from 'hookspan'
import { deny } from 'hookspan/gates'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collector, failures, hook, never, turn } from './support.ts'

type Mock = Parameters<BeforeToolCallEvent['mock']>[0]

const mock = (event: HookEvent, result: unknown) => (event as BeforeToolCallEvent).mock(result as Mock)

/** One tool call beside hooks. */
async function call(handlers: Parameters<typeof hook>[1][], options: { timeoutMs?: number } = {}) {
  const { list, onHookError } = failures()
  const { events, handler } = collector()
  const real = vi.fn(() => 'real')
  const dispatcher = new HookDispatcher({ onHookError, mockTimeoutMs: 50 })
  const op = dispatcher.startOperation({
    hooks: [
      ...handlers.map((fn, index) => hook('beforeToolCall', fn, { id: `h${index}`, ...options })),
      hook('afterToolCall', handler),
      hook('onToolCallError', handler),
    ],
  })
  const outcome = await op.toolCall({ apiName: 'search', args: { q: 1 }, toolCallId: 't1' }, real)
  return { outcome, real, failures: list, after: events[0], dispatcher, op }
}

describe('event.mock', () => {
  it('answers in the place of the tool, which does not run', async () => {
    const { outcome, real, after } = await call([
      (event) => mock(event, { content: 'sunny', data: { tempC: 7 } }),
    ])

    expect(real).not.toHaveBeenCalled()
    expect(outcome).toMatchObject({ state: 'mocked', result: { tempC: 7 } })
    expect(outcome.toToolMessage()).toEqual({ role: 'tool', tool_call_id: 't1', content: 'sunny' })
    expect(after).toMatchObject({
      hookType: 'afterToolCall',
      content: 'sunny',
      result: { tempC: 7 },
      success: true,
      mocked: true,
      outcome: 'mocked',
    })
  })

  it.each([
    [{ content: 'x' }, { result: 'x', success: true }],
    [
      { content: 'x', success: false },
      { result: 'x', success: false },
    ],
    [
      { content: 'x', data: null },
      { result: null, success: true },
    ],
    [{ content: '' }, { result: '', success: true }],
    [
      { content: 'x', success: false, error: 'sold out' },
      { content: 'x', result: { content: 'x', success: false, error: 'sold out' }, success: false },
    ],
    [
      { content: 'x', success: false, error: { type: 'E' }, data: 7 },
      { content: 'x', result: 7, success: false },
    ],
  ])('of %o gives %o', async (result, expected) => {
    expect((await call([(event) => mock(event, result)])).after).toMatchObject(expected)
  })

  it('simulates a tool that throws', async () => {
    const error = new TypeError('sold out')
    const { outcome, real, after } = await call([(event) => mock(event, { error })])

    expect(real).not.toHaveBeenCalled()
    expect(outcome).toMatchObject({ state: 'errored', error })
    expect(after).toMatchObject({ hookType: 'onToolCallError', errorType: 'TypeError', mocked: true })
  })

  it('makes an Error of text', async () => {
    const { outcome } = await call([(event) => mock(event, { error: 'sold out' })])

    expect(outcome).toMatchObject({ state: 'errored', error: new Error('sold out') })
  })

  it('delays the end of the call', async () => {
    const startedAt = performance.now()
    const { after } = await call([(event) => mock(event, { content: 'x', delayMs: 30 })])

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(28)
    expect((after as { executionTimeMs: number }).executionTimeMs).toBeGreaterThanOrEqual(28)
  })

  it('is cut short by an abort while it delays', async () => {
    const controller = new AbortController()
    const op = new HookDispatcher().startOperation({
      signal: controller.signal,
      hooks: [hook('beforeToolCall', (event) => mock(event, { content: 'x', delayMs: 60_000 }))],
    })
    const call = op.toolCall({ apiName: 'search', args: {} }, () => 'real')
    await turn()

    controller.abort(new Error('enough'))
    const outcome = await call

    expect(outcome).toMatchObject({ state: 'errored', error: new Error('enough') })
  })

  it('sees the effective arguments, and works when taken apart from its event', async () => {
    const handler = (event: HookEvent) => {
      const { mock: answer, args } = event as BeforeToolCallEvent
      answer({ content: JSON.stringify(args) })
    }

    expect((await call([handler])).outcome).toMatchObject({ result: '{"q":1}' })
  })
})

describe('the first mock wins', () => {
  it('and later handlers still observe', async () => {
    const { events, handler } = collector()
    const { outcome, failures: list } = await call([
      (event) => mock(event, { content: 'first' }),
      (event) => mock(event, { content: 'second' }),
      handler,
    ])

    expect(outcome).toMatchObject({ result: 'first' })
    expect(events).toHaveLength(1)
    expect(list).toEqual([])
  })

  it('also within one handler', async () => {
    const twice = (event: HookEvent) => {
      mock(event, { content: 'first' })
      mock(event, { content: 'second' })
    }

    expect((await call([twice])).outcome).toMatchObject({ result: 'first' })
  })

  it('and one set before its handler throws stands', async () => {
    const { outcome, failures: list } = await call([
      (event) => {
        mock(event, { content: 'kept' })
        throw new Error('after')
      },
    ])

    expect(outcome).toMatchObject({ state: 'mocked', result: 'kept' })
    expect(list).toMatchObject([{ kind: 'failed', hookId: 'h0' }])
  })

  it('and handlers run once per call, not twice', async () => {
    const handler = vi.fn()

    await call([handler])

    expect(handler).toHaveBeenCalledTimes(1)
  })
})

describe('an asynchronous handler', () => {
  it('is waited for, so that it may mock', async () => {
    const { outcome, real } = await call([
      async (event) => turn().then(() => mock(event, { content: 'later' })),
    ])

    expect(outcome).toMatchObject({ state: 'mocked', result: 'later' })
    expect(real).not.toHaveBeenCalled()
  })

  it('is not waited for once somebody mocked', async () => {
    const { outcome } = await call([never, (event) => mock(event, { content: 'at once' })], {
      timeoutMs: 60_000,
    })

    expect(outcome).toMatchObject({ result: 'at once' })
  })

  it('that rejects without a mock lets the tool run', async () => {
    const { outcome, failures: list } = await call([() => Promise.reject(new Error('no'))])

    expect(outcome).toMatchObject({ state: 'completed', result: 'real' })
    expect(list).toHaveLength(1)
  })

  it('that mocks too late is told so by a throw, and the tool has run', async () => {
    let thrown: unknown
    const { promise: isDecided, resolve: decided } = Promise.withResolvers<void>()
    const late = async (event: HookEvent) => {
      await isDecided
      try {
        mock(event, { content: 'late' })
      } catch (error) {
        thrown = error
      }
    }

    const { outcome, dispatcher } = await call([late])
    await expect.poll(() => dispatcher.stats().timedOut).toBe(1)
    decided()
    await turn()

    expect(outcome).toMatchObject({ state: 'completed', result: 'real' })
    expect(thrown).toMatchObject({
      code: 'MOCK_TOO_LATE',
      message: expect.stringContaining('after the call was decided'),
    })
  })

  describe('of parallel calls', () => {
    beforeEach(() => void vi.useFakeTimers())
    afterEach(() => void vi.useRealTimers())

    it('is waited for from each call on, so that hanging does not add up', async () => {
      const dispatcher = new HookDispatcher({ mockTimeoutMs: 1_000, ...failures() })
      const op = dispatcher.startOperation({ hooks: [hook('beforeToolCall', never)] })
      const done: number[] = []

      const calls = Array.from({ length: 12 }, async (_item, index) => {
        await op.toolCall({ apiName: 'search', args: { index } }, () => 'real')
        done.push(index)
      })
      await vi.advanceTimersByTimeAsync(1_000)

      expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
      await Promise.all(calls)
    })

    it('mocks each of them by its own event', async () => {
      const op = new HookDispatcher().startOperation({
        hooks: [
          hook('beforeToolCall', async (event) => {
            await new Promise((resolve) => setTimeout(resolve, 5))
            mock(event, { content: `mock ${JSON.stringify((event as BeforeToolCallEvent).args)}` })
          }),
        ],
      })

      const calls = Promise.all(
        Array.from({ length: 12 }, (_item, index) =>
          op.toolCall({ apiName: 'search', args: index }, () => 'real'),
        ),
      )
      await vi.advanceTimersByTimeAsync(100)

      expect((await calls).map((outcome) => 'result' in outcome && outcome.result)).toEqual(
        Array.from({ length: 12 }, (_item, index) => `mock ${index}`),
      )
    })
  })
})

describe('a malformed mock', () => {
  it.each([
    [undefined],
    ['sunny'],
    [{}],
    [{ content: 7 }],
    [{ content: 'x', error: 'y' }],
    [{ content: 'x', error: 'y', success: true }],
    [{ error: 'y', success: 'no' }],
    [{ content: 'x', success: 'yes' }],
    [{ content: 'x', delayMs: -1 }],
    [{ content: 'x', delayMs: Number.NaN }],
  ])('%o throws, and fails the call, because whoever mocks does not want the real tool', async (result) => {
    const { outcome, real, failures: list } = await call([(event) => mock(event, result)])

    expect(real).not.toHaveBeenCalled()
    expect(outcome).toMatchObject({ state: 'errored', error: { code: 'MOCK_INVALID' } })
    expect(list).toMatchObject([{ kind: 'failed', error: { code: 'MOCK_INVALID' } }])
  })
})

describe('a call that is decided already', () => {
  it('is still observed, and cannot be mocked', async () => {
    const thrown: unknown[] = []
    const op = new HookDispatcher().startOperation({
      gates: [{ id: 'g', point: 'beforeToolCall', decide: () => deny('no') }],
      hooks: [
        hook('beforeToolCall', (event) => {
          try {
            mock(event, { content: 'x' })
          } catch (error) {
            thrown.push(error)
          }
        }),
      ],
    })

    const outcome = await op.toolCall({ apiName: 'search', args: {} }, () => 'real')

    expect(outcome).toMatchObject({ state: 'denied' })
    expect(thrown).toMatchObject([
      { code: 'MOCK_TOO_LATE', message: expect.stringContaining('refused before') },
    ])
  })
})

describe('other events', () => {
  it('have no mock', async () => {
    const { after } = await call([])

    expect(after).toBeDefined()
    expect(after).not.toHaveProperty('mock')
  })
})

describe('a runtime without Operation', () => {
  it('gets the mock of dispatchBeforeToolCall', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.register('op', [
      hook('beforeToolCall', (event) => mock(event, { content: 'x' }), { match: 'search' }),
    ])

    expect(await dispatcher.dispatchBeforeToolCall('op', { apiName: 'search', args: {} })).toEqual({
      content: 'x',
    })
    expect(await dispatcher.dispatchBeforeToolCall('op', { apiName: 'other', args: {} })).toBeNull()
    expect(await dispatcher.dispatchBeforeToolCall('unknown', { apiName: 'search' })).toBeNull()
  })

  it('is told when its plain dispatch makes a mock useless', () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [hook('beforeToolCall', (event) => mock(event, { content: 'x' }))])

    dispatcher.dispatch('op', 'beforeToolCall', { apiName: 'search' })

    expect(list).toMatchObject([{ error: { code: 'MOCK_TOO_LATE' } }])
    expect(list[0]?.message).toContain('dispatchBeforeToolCall')
  })
})
