import { type AgentHook, HookDispatcher } from 'hookspan'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { boom, MISBEHAVING } from './misbehaving.ts'
import { everything, failures, type Handler, hook, hooksOfEveryType, never, startWatched } from './support.ts'

/** What no two runs have in common. */
const VARIES = /Ms$|^requestId$/
const options = { mockTimeoutMs: 5, ...failures() }

describe.each(Object.entries(MISBEHAVING))('a handler that %s', (_name, make) => {
  const bare = everything(new HookDispatcher(options))

  it('leaves results and their order as if it were absent', async () => {
    const dispatcher = new HookDispatcher(options)
    const handler = make(dispatcher)

    const seen = await everything(dispatcher, { hooks: hooksOfEveryType(handler, { timeoutMs: 50 }) })

    expect(seen).toEqual(await bare)
    expect(await dispatcher.drain()).toMatchObject({ drained: true })
  })

  it('leaves what other hooks see as if it were absent', async () => {
    const alone = await eventsOf((dispatcher, hooks) => everything(dispatcher, { hooks }))
    const beside = await eventsOf((dispatcher, hooks) => {
      const first = hooksOfEveryType(make(dispatcher), { id: 'first', priority: 1, timeoutMs: 50 })
      const last = hooksOfEveryType(make(dispatcher), { id: 'last', priority: 999, timeoutMs: 50 })
      return everything(dispatcher, { hooks: [...first, ...hooks, ...last] })
    })

    // Hooks that were taken out, and steps that were made up, are what those two handlers asked for.
    if (_name.startsWith('takes every hook')) expect(beside.length).toBeLessThanOrEqual(alone.length)
    else if (_name.startsWith('dispatches an event'))
      expect(beside.filter((e) => e !== MADE_UP)).toEqual(alone)
    else expect(beside).toEqual(alone)
  })
})

const MADE_UP = 'beforeStep 9'

/** What one hook per type is told, without what differs from run to run. */
async function eventsOf(run: (dispatcher: HookDispatcher, hooks: AgentHook[]) => Promise<unknown>) {
  const texts: string[] = []
  const dispatcher = new HookDispatcher(options)
  const hooks = hooksOfEveryType((event) => {
    const { hookType } = event
    if (hookType === 'beforeStep' && event.stepIndex === 9) return void texts.push(MADE_UP)
    const { sequence: _s, timestamp: _t, ...rest } = event
    texts.push(JSON.stringify(rest, (key, value) => (VARIES.test(key) ? 0 : value)))
  })
  await run(dispatcher, hooks)
  return texts
}

/**
 * How many turns of the event loop a run takes, on a clock that stands still: whatever waits for a timer waits for ever.
 */
async function turnsOf(run: () => Promise<unknown>): Promise<number> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  let turns = 0
  let over = false
  const count = () => {
    turns++
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  await run()
  over = true
  return turns
}

describe('the time of the run', () => {
  afterEach(() => void vi.useRealTimers())

  // A beforeToolCall handler might mock: what it may hold up is told below.
  const observe = (handler: Handler) =>
    hooksOfEveryType(handler).filter(({ type }) => type !== 'beforeToolCall')

  it.each(Object.entries(MISBEHAVING))(
    'is what it is without a handler that %s: no turn of the event loop more, and no timer',
    async (_name, make) => {
      const bare = await turnsOf(() => everything(new HookDispatcher(options)))
      const dispatcher = new HookDispatcher(options)

      const beside = await turnsOf(() => everything(dispatcher, { hooks: observe(make(dispatcher)) }))

      expect(beside).toBe(bare)
    },
  )

  it('contains a hanging beforeToolCall handler for mockTimeoutMs at most, because it might mock', async () => {
    const dispatcher = new HookDispatcher({ mockTimeoutMs: 30, ...failures() })
    const op = dispatcher.startOperation({ hooks: [hook('beforeToolCall', never)] })
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    let outcome: unknown
    void op.toolCall({ apiName: 'search', args: {} }, () => 'real').then((given) => (outcome = given))

    await vi.advanceTimersByTimeAsync(29)
    expect(outcome).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    expect(outcome).toMatchObject({ state: 'completed', result: 'real' })
  })
})

describe('arguments and results that are hostile themselves', () => {
  const throws = () => {
    throw boom()
  }
  const cyclic: Record<string, unknown> = { name: 'cyclic' }
  cyclic.self = cyclic
  let deep: unknown = 'bottom'
  for (let i = 0; i < 20_000; i++) deep = [deep]
  const wide = Array.from({ length: 2_000 }, (_item, id) => ({ id, parent: cyclic }))
  const values: Record<string, unknown> = {
    cyclic,
    deep,
    'wide with parents': wide,
    'a getter that throws': {
      get secret() {
        throw boom()
      },
    },
    'a proxy that throws': new Proxy(
      {},
      {
        getPrototypeOf() {
          throw boom()
        },
        ownKeys() {
          throw boom()
        },
      },
    ),
    'a BigInt': { count: 10n },
    'isError that throws': {
      get isError() {
        throw boom()
      },
    },
  }

  it.each(Object.keys(values))('reach the tool and its caller as they are: %s', async (name) => {
    const value = values[name]
    const dispatcher = new HookDispatcher(options)
    const op = dispatcher.startOperation({ hooks: hooksOfEveryType(() => {}) })
    let got: unknown

    const outcome = await op.toolCall({ apiName: 'take', args: value }, (args) => {
      got = args
      return value
    })

    expect(got).toBe(value)
    if (name.startsWith('isError') || name.startsWith('a proxy'))
      expect(outcome.state).toMatch(/completed|errored/)
    else expect('result' in outcome && outcome.result === value).toBe(true)
    await op.complete()
  })

  it.each([
    'status',
    'reason',
    'content',
    'usage',
    'costUsd',
    'operationId',
    'summary',
    'tokensAfter',
    'choices',
  ])(
    'reach the caller of an agent, a compaction and a model as they are: a getter of `%s` that throws',
    async (name) => {
      const value = Object.defineProperty({}, name, { enumerable: true, get: throws }) as object
      const { op, types } = startWatched()

      expect(await op.callAgent({ instruction: 'x' }, () => value)).toBe(value)
      expect(await op.compact({ messageCount: 1, tokenCount: 1 }, () => value)).toBe(value)
      const asked = { model: 'm', provider: 'p', request: { messages: [] } }
      expect(await op.llmCall(asked, () => value)).toBe(value)

      expect(types().filter((type) => type.startsWith('after'))).toEqual([
        'afterCallAgent',
        'afterCompact',
        'afterLlmCall',
      ])
      await op.complete()
    },
  )

  it('are copied for handlers as far as they go: objects without end, and a list of places without items', async () => {
    const endless = (): object => ({
      get next() {
        return endless()
      },
    })
    const sparse: unknown[] = []
    sparse.length = 2 ** 32 - 1
    const { op, types } = startWatched()
    for (const args of [endless(), { sparse }]) {
      const outcome = await op.toolCall({ apiName: 'take', args }, (given) => given === args)
      expect(outcome).toMatchObject({ state: 'completed', result: true })
    }
    expect(types().filter((type) => type.endsWith('ToolCall'))).toHaveLength(4)
    await op.complete()
  })

  it('fail a call as they were thrown: a proxy that throws', async () => {
    const thrown = new Proxy({}, { get: throws, has: throws, getPrototypeOf: throws })
    const fails = () => Promise.reject(thrown)
    const { op, types } = startWatched()

    const asked = { model: 'm', provider: 'p', request: { messages: [] } }
    expect(await op.llmCall(asked, fails).catch((error: unknown) => error === thrown)).toBe(true)
    const outcome = await op.toolCall({ apiName: 'take', args: {} }, fails)
    expect(outcome.state === 'errored' && outcome.error === thrown).toBe(true)

    expect(types().filter((type) => type.endsWith('Error'))).toEqual(['onLlmCallError', 'onToolCallError'])
    await op.complete()
  })

  it('are not shared with handlers: Maps, Sets and Dates neither', async () => {
    const args = { map: new Map([['a', { n: 1 }]]), set: new Set([1]), date: new Date(0), list: [{ n: 1 }] }
    const dispatcher = new HookDispatcher(options)
    const tamper: Handler = (event) => {
      const given = (event as unknown as { args: typeof args }).args
      given.map.set('b', { n: 2 })
      Reflect.set(given.map.get('a') as object, 'n', 9)
      given.set.clear()
      given.date.setTime(1)
      given.list.push({ n: 3 })
    }
    const op = dispatcher.startOperation({ hooks: [hook('beforeToolCall', tamper)] })

    await op.toolCall({ apiName: 'take', args }, () => 'ok')

    expect(args).toEqual({
      map: new Map([['a', { n: 1 }]]),
      set: new Set([1]),
      date: new Date(0),
      list: [{ n: 1 }],
    })
  })
})

describe('an event that cannot be read', () => {
  it('does not throw at the runtime that dispatches it', async () => {
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register(
      'op',
      hooksOfEveryType(() => {}),
    )
    const event = {
      get stepIndex(): number {
        throw boom()
      },
    }

    expect(() => dispatcher.dispatch('op', 'beforeStep', event)).not.toThrow()
    expect(() => dispatcher.dispatch('op', 'beforeStep', undefined as never)).not.toThrow()
    await expect(
      dispatcher.dispatchBeforeToolCall('op', {
        get args() {
          throw boom()
        },
      }),
    ).resolves.toBeNull()

    expect(list.map(({ message }) => message).join()).toMatch(/observer failed/)
  })
})
