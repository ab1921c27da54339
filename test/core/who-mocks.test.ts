import { type BeforeToolCallEvent, HookDispatcher, type HookEvent } from 'hookspan'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collector, failures, type Handler, hook, never } from './support.ts'

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const mockAfter =
  (ms: number): Handler =>
  async (event) => {
    await sleep(ms)
    ;(event as BeforeToolCallEvent).mock({ content: 'mocked' })
  }

interface Options {
  mocks?: boolean
  timeoutMs?: number
}

/** One run with one `beforeToolCall` hook, on a clock that is turned by hand. */
function runWith(handler: Handler, options: Options = {}, dispatcher = new HookDispatcher(failures())) {
  const { events, handler: collect } = collector()
  const controller = new AbortController()
  const op = dispatcher.startOperation({
    signal: controller.signal,
    hooks: [hook('beforeToolCall', handler, { id: 'm', ...options }), hook('afterToolCall', collect)],
  })
  const real = vi.fn(() => 'real')
  const call = async () => {
    const startedAt = Date.now()
    const calling = op.toolCall({ apiName: 'pay', args: {} }, real)
    await vi.advanceTimersByTimeAsync(60_000)
    const outcome = await calling
    const after = events.at(-1) as HookEvent<'afterToolCall'> | undefined
    return { outcome, after, waitedMs: after === undefined ? undefined : after.timestamp - startedAt }
  }
  return { op, real, call, controller }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a hook with mocks: true', () => {
  it('that takes 1.5 s mocks the call, without a timeoutMs of its own', async () => {
    const { call, real } = runWith(mockAfter(1_500), { mocks: true })

    expect((await call()).outcome).toMatchObject({ state: 'mocked', result: 'mocked' })
    expect(real).not.toHaveBeenCalled()
  })

  it('that is later than its timeoutMs refuses the call, each time', async () => {
    const { call, real } = runWith(mockAfter(1_500), { mocks: true, timeoutMs: 100 })

    for (const _time of [1, 2]) {
      const { outcome, after, waitedMs } = await call()
      expect(outcome).toMatchObject({ state: 'denied', code: 'mock_timeout' })
      expect(JSON.parse(outcome.toToolMessage().content)).toMatchObject({
        denied: true,
        code: 'mock_timeout',
      })
      expect(after).toMatchObject({ success: false, outcome: 'denied', code: 'mock_timeout' })
      expect(waitedMs).toBe(100)
    }
    expect(real).not.toHaveBeenCalled()
  })

  it.each([
    ['throws', () => Promise.reject(new Error('no fixture'))],
    [
      'throws at once',
      () => {
        throw new Error('no fixture')
      },
    ],
  ])('that %s before it has said whether it mocks refuses the call', async (_name, handler) => {
    const { call, real } = runWith(handler, { mocks: true })

    expect((await call()).outcome).toMatchObject({ state: 'denied', code: 'mock_error' })
    expect(real).not.toHaveBeenCalled()
  })

  it('whose match throws refuses the call', async () => {
    const { call, real } = runWith(() => {}, {
      mocks: true,
      match: () => {
        throw new Error('no')
      },
    } as Options)

    expect((await call()).outcome).toMatchObject({ state: 'denied', code: 'mock_error' })
    expect(real).not.toHaveBeenCalled()
  })

  it('whose event is dropped refuses the call', async () => {
    const dispatcher = new HookDispatcher(failures())
    const more = { mocks: true, maxPending: 1 }
    const op = dispatcher.startOperation({ hooks: [hook('beforeToolCall', never, more)] })
    const outcomes: unknown[] = []
    for (let i = 0; i < 3; i++) {
      void op.toolCall({ apiName: 'pay', args: {} }, () => 'real').then((outcome) => outcomes.push(outcome))
    }

    await vi.advanceTimersByTimeAsync(0)
    expect(outcomes).toMatchObject([{ state: 'denied', code: 'mock_timeout' }])
    await vi.advanceTimersByTimeAsync(30_000)

    expect(outcomes).toMatchObject(Array(3).fill({ state: 'denied', code: 'mock_timeout' }))
  })

  it('that does not mock lets the tool run', async () => {
    const { call } = runWith(() => sleep(1_500), { mocks: true })

    expect((await call()).outcome).toMatchObject({ state: 'completed', result: 'real' })
  })

  it('is not waited for once another hook mocked', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({
      name: 'p',
      hooks: [hook('beforeToolCall', (event) => (event as BeforeToolCallEvent).mock({ content: 'at once' }))],
    })
    const { call } = runWith(never, { mocks: true }, dispatcher)

    expect(await call()).toMatchObject({ outcome: { result: 'at once' }, waitedMs: 0 })
  })

  it.each(['aborted', 'completed'] as const)('holds no call of a run that is %s', async (how) => {
    const { op, real, controller } = runWith(never, { mocks: true })
    const calling = op.toolCall({ apiName: 'pay', args: {} }, real)
    await vi.advanceTimersByTimeAsync(10)

    if (how === 'aborted') controller.abort(new Error('enough'))
    else await op.complete()

    expect(await calling).toMatchObject({ state: 'errored' })
    expect(real).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBeLessThanOrEqual(2)
  })

  it('is refused for other types, and when it is no boolean', () => {
    const dispatcher = new HookDispatcher(failures())
    expect(() => dispatcher.register('op', [hook('afterToolCall', () => {}, { mocks: true })])).toThrow(
      /`mocks` of hook "afterToolCall" is for "beforeToolCall"/,
    )
    expect(() =>
      dispatcher.register('op', [hook('beforeToolCall', () => {}, { mocks: 'yes' as never })]),
    ).toThrow(/mocks/)
  })
})

describe('a hook with mocks: false', () => {
  it('is never waited for', async () => {
    const { call } = runWith(never, { mocks: false, timeoutMs: 5_000 })

    expect(await call()).toMatchObject({ outcome: { state: 'completed' }, waitedMs: 0 })
  })

  it('that mocks all the same fails the call: somebody did not want the real tool', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    const mocking: Handler = (event) => (event as BeforeToolCallEvent).mock({ content: 'x' })
    const { call, real } = runWith(mocking, { mocks: false }, dispatcher)

    expect((await call()).outcome).toMatchObject({ state: 'errored', error: { code: 'MOCK_INVALID' } })
    expect(real).not.toHaveBeenCalled()
    expect(list).toMatchObject([{ hookId: 'm', error: { message: expect.stringContaining('mocks: false') } }])
  })
})

describe('a hook that does not say whether it mocks', () => {
  it('is waited for 1 s, and not again in a run in which it was late once', async () => {
    const { call } = runWith(never)

    expect(await call()).toMatchObject({ outcome: { state: 'completed' }, waitedMs: 1_000 })
    expect(await call()).toMatchObject({ outcome: { state: 'completed' }, waitedMs: 0 })
    expect(await call()).toMatchObject({ outcome: { state: 'completed' }, waitedMs: 0 })
  })

  it('is waited for anew in another run', async () => {
    const dispatcher = new HookDispatcher(failures())
    for (const _run of [1, 2]) {
      expect(await runWith(never, {}, dispatcher).call()).toMatchObject({ waitedMs: 1_000 })
    }
  })

  it('counts as mocks: true once it has called mock(), in time or not', async () => {
    const { call, real } = runWith(mockAfter(1_500))

    // Nobody could know.
    expect((await call()).outcome).toMatchObject({ state: 'completed' })
    expect((await call()).outcome).toMatchObject({ state: 'mocked' })
    expect(real).toHaveBeenCalledTimes(1)
  })

  it('and has mocked before refuses the call when it is late, in whichever run', async () => {
    const dispatcher = new HookDispatcher(failures())
    let ms = 1
    const handler: Handler = (event, context) => mockAfter(ms)(event, context)
    const plugged = hook('beforeToolCall', handler, { id: 'plugged' })
    dispatcher.use({ name: 'p', hooks: [plugged] })
    expect((await runWith(() => {}, {}, dispatcher).call()).outcome).toMatchObject({ state: 'mocked' })

    ms = 1_000_000
    const { call, real } = runWith(() => {}, {}, dispatcher)

    expect(await call()).toMatchObject({
      outcome: { state: 'denied', code: 'mock_timeout' },
      waitedMs: 30_000,
    })
    expect(real).not.toHaveBeenCalled()
  })
})

describe('a runtime without Operation', () => {
  it('is told of a late mock by one that fails, and why', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [hook('beforeToolCall', never, { mocks: true, timeoutMs: 100 })])

    const deciding = dispatcher.dispatchBeforeToolCall('op', { apiName: 'pay', args: {} })
    await vi.advanceTimersByTimeAsync(100)
    const mock = await deciding

    expect(mock).toMatchObject({ success: false, error: { code: 'CALL_DENIED' } })
    expect(JSON.parse((mock as { content: string }).content)).toMatchObject({ code: 'mock_timeout' })
  })
})
