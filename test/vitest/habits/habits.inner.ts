/** What test authors do with vitest: habits.test.ts runs this in vitests of their own. */

import { HookDispatcher } from 'hookspan'
import { mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { describe, vi } from 'vitest'

const call = async (dispatcher: HookDispatcher, apiName = 't', result: unknown = 1) => {
  const op = dispatcher.startOperation({ agentName: 'a' })
  const outcome = await op.toolCall({ apiName, args: { result } }, () => result)
  await op.complete()
  return outcome
}

let tries = 0
test('ok: tried again, with fixtures of its own', { retry: 2 }, async ({ dispatcher, mocks, trace }) => {
  mocks.use(mock('t').returns(1), mock('later').returns(1))
  await call(dispatcher)
  expect(trace).toHaveCalledTool('t', undefined, { times: 1 })
  if (tries++ < 2) throw new Error('not yet')
  await call(dispatcher, 'later')
})

let recordings = 0
test('ok: tried again, with a recording', { retry: 1 }, async ({ dispatcher, replay }) => {
  replay({ folder: process.env.INNER_RECORDINGS as string, mode: 'auto' })
  await call(dispatcher)
  if (recordings++ === 0) throw new Error('not yet')
  await call(dispatcher, 'later')
})

test('ok: repeated', { repeats: 2 }, async ({ dispatcher, mocks }) => {
  mocks.use(mock('t').returns(1))
  await call(dispatcher)
  expect(mocks.calls()).toHaveLength(1)
})

test.for([1, 2, 3])('ok: one of the same name', async (n, { dispatcher, mocks }) => {
  mocks.use(mock('t').returns(n))
  expect(await call(dispatcher)).toMatchObject({ result: n })
})

const recorded = { folder: process.env.INNER_RECORDINGS as string, mode: 'auto' } as const
test('x + y: ok', async ({ dispatcher, replay }) => {
  replay(recorded)
  await call(dispatcher, 't', 'of x + y')
})
test('x - y: ok', async ({ dispatcher, replay }) => {
  replay(recorded)
  await call(dispatcher, 't', 'of x - y')
})
test('X y: OK', async ({ dispatcher, replay }) => {
  replay(recorded)
  await call(dispatcher, 't', 'of X y')
})
test.for(['a', 'b'])('same', async (result, { dispatcher, replay }) => {
  replay(recorded)
  await call(dispatcher, 't', result)
})

test('nul', async ({ dispatcher, replay }) => {
  replay(recorded)
  await call(dispatcher)
})

test(`ok: ${'é💥ü'.repeat(100)}`, async ({ dispatcher, replay }) => {
  replay(recorded)
  await call(dispatcher)
})

test('bad: recorded, with a mock that is not used', async ({ dispatcher, replay, mocks }) => {
  replay(recorded)
  mocks.use(mock('other').returns(1))
  await call(dispatcher)
})
test('bad: recorded, with a step of the model that is not asked for', async ({
  dispatcher,
  replay,
  model,
}) => {
  replay(recorded)
  model(['never'])
  await call(dispatcher)
})
test('bad: skips itself while it is recorded', async ({ dispatcher, replay, mocks, skip }) => {
  replay(recorded)
  mocks.use(mock('other').returns(1))
  await call(dispatcher)
  skip('no key')
})

const long = `bad: ${'ü'.repeat(300)}`
test(long, async ({ dispatcher, mocks }) => {
  mocks.use()
  await call(dispatcher, 'without a mock')
})
test.for([1, 2])('bad: of the same name', async (n, { dispatcher, mocks }) => {
  mocks.use()
  await call(dispatcher, `t${n}`)
})

test('ok: a clock that is stopped and stays so', async ({ dispatcher, mocks }) => {
  vi.useFakeTimers()
  mocks.use(mock('t').delays(60_000).returns(1))
  dispatcher.use({
    name: 'slow',
    hooks: [{ id: 'slow', type: 'onComplete', timeoutMs: 60_000, handler: () => new Promise(() => {}) }],
  })
  const done = call(dispatcher)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await done).toMatchObject({ state: 'mocked' })
}, 10_000)
test('ok: the clock goes on', () => {
  vi.useRealTimers()
})

test('bad: softly', async ({ dispatcher, trace }) => {
  await call(dispatcher)
  expect.soft(trace).toHaveCalledTool('other')
  expect.soft(trace).toHaveBeenDenied('t')
  expect(trace).toHaveCalledTool('t')
})

test('ok: polled', async ({ dispatcher, trace }) => {
  const later = new Promise((resolve) => setTimeout(resolve, 50)).then(() => call(dispatcher))
  await expect.poll(() => trace, { timeout: 5_000 }).toHaveCalledTool('t', { result: 1 })
  await later
})

test('ok: awaited by vitest, and counted', async ({ dispatcher, trace }) => {
  expect.assertions(3)
  await expect(call(dispatcher).then(() => trace)).resolves.toHaveCalledTool('t')
  expect({ trace }).toEqual({ trace: (expect as unknown as Matchers).toHaveCalledTool('t') })
  expect({ trace }).not.toEqual({ trace: (expect as unknown as Matchers).toHaveBeenDenied() })
})
interface Matchers {
  toHaveCalledTool(name: string): unknown
  toHaveBeenDenied(): unknown
}

describe.concurrent('at once', () => {
  for (const n of [1, 2, 3, 4]) {
    test(`ok: ${n} with an expect of its own`, async ({ dispatcher, mocks, trace, expect: own }) => {
      mocks.use(mock('t').delays(n).returns(n))
      await call(dispatcher)
      own(trace).toHaveCalledTool('t', undefined, { times: 1, result: n })
    })
  }
})

test.fails('ok: is expected to fail', async ({ dispatcher, mocks }) => {
  mocks.use()
  await call(dispatcher)
})

const shopTest = test.extend<{ shop: () => Promise<unknown> }>({
  shop: async ({ dispatcher }, use) => use(() => call(dispatcher, 'find')),
})
shopTest('ok: with a fixture more', async ({ shop, mocks }) => {
  mocks.use(mock('find').returns('found'))
  expect(await shop()).toMatchObject({ result: 'found' })
})

/** That of an agent which is there once, for all tests. */
const shared = new HookDispatcher()
const sharedTest = test.extend({ dispatcher: shared })
sharedTest.for([1, 2])('ok: on a dispatcher of its own', async (n, { mocks, trace }) => {
  mocks.use(mock('t').returns(n))
  expect(await call(shared, 't', 'real')).toMatchObject({ state: 'mocked', result: n })
  expect(trace).toHaveCalledTool('t', { result: 'real' }, { times: 1, outcome: 'mocked' })
  expect(trace).toHaveSpans([{ name: 'execute_tool t', under: 'invoke_agent a' }])
})
sharedTest('ok: and without mocks', async ({ dispatcher, trace }) => {
  expect(await call(dispatcher, 't', 'real')).toMatchObject({ state: 'completed' })
  expect(trace).toHaveCalledTool('t', undefined, { times: 1, result: 'real' })
})
sharedTest('bad: on a dispatcher of its own', async ({ mocks }) => {
  mocks.use()
  expect(await call(shared, 'of the shared')).toMatchObject({ state: 'errored' })
})

const both = Promise.withResolvers<void>()
describe.concurrent('at once, on a dispatcher of their own', () => {
  const own = test.extend({ dispatcher: new HookDispatcher() })
  own('ok: the first', async ({ dispatcher, mocks }) => {
    mocks.use(mock('t').returns(1))
    await both.promise
    await call(dispatcher)
  })
  own('bad: the second, which would be answered by the first', async ({ dispatcher, mocks }) => {
    mocks.use()
    await call(dispatcher)
  })
  test('ok: the third', () => both.resolve())
})

const cleaned: string[] = []
test('bad: a mock that hangs', { timeout: 1_000 }, async ({ dispatcher, mocks }) => {
  mocks.use(mock('t').hangs())
  await call(dispatcher).finally(() => cleaned.push('t'))
})
test('bad: a mock that hangs, again and again', { timeout: 1_000 }, async ({ repeat }) => {
  await repeat(3, async ({ dispatcher, mocks, index }) => {
    mocks.use(mock('t').hangs())
    await call(dispatcher).finally(() => cleaned.push(`run ${index}`))
  })
})
sharedTest('bad: a mock that hangs, on a shared dispatcher', { timeout: 1_000 }, async ({ mocks }) => {
  mocks.use(mock('t').hangs())
  const outcome = await call(shared)
  cleaned.push(outcome.toToolMessage().content)
})
test('ok: nothing of them is left', async () => {
  const said = expect.stringContaining('hung until its test was out of time')
  await expect.poll(() => cleaned, { timeout: 5_000 }).toEqual(['t', 'run 0', said])
})

test('bad: a trace that cannot be saved', async ({ dispatcher, mocks }) => {
  process.env.HOOKSPAN_TRACE_DIR = import.meta.filename
  mocks.use()
  await call(dispatcher, 'without a mock')
})
