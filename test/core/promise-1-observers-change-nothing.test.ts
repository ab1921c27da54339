import { type AgentHook, HookDispatcher } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { everything, failures, type Handler, hook, hooksOfEveryType, never, turn } from './support.ts'

const boom = () => new Error('observer failed')

/** Overwrites, adds and empties whatever can be reached from the event. */
function vandalize(value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null || value instanceof Error || depth > 6) return
  for (const inner of Object.values(value)) vandalize(inner, depth + 1)
  if (Array.isArray(value)) value.length = 0
  for (const key of Object.keys(value)) Reflect.set(value, key, 'vandal')
  Reflect.set(value, 'added', true)
}

const hostilePromise = () =>
  Object.defineProperty(Promise.resolve(), 'constructor', {
    get: () => {
      throw boom()
    },
  })
const deafPromise = () =>
  Object.assign(Promise.resolve(), {
    then: () => {
      throw boom()
    },
    catch: () => {},
  })

/** The table that every wrapper meets: what a handler may do wrong. */
const HANDLERS: Record<string, (dispatcher: HookDispatcher) => Handler> = {
  'returns a value': () => () => 42,
  'throws at once': () => () => {
    throw boom()
  },
  'throws undefined': () => () => {
    throw undefined
  },
  rejects: () => () => Promise.reject(boom()),
  'rejects later': () => async () => {
    await turn()
    throw boom()
  },
  'returns a thenable that never settles': () => () => ({ then() {} }),
  'returns a thenable that throws': () => () => ({
    then() {
      throw boom()
    },
  }),
  'returns a thenable that settles many times': () => () => ({
    then(ok: () => void, no: (e: Error) => void) {
      ok()
      ok()
      no(boom())
    },
  }),
  'returns an object whose then cannot be read': () => () => ({
    get then() {
      throw boom()
    },
  }),
  'returns a promise whose constructor cannot be read': () => hostilePromise,
  'returns a promise whose own then throws': () => deafPromise,
  'returns an async iterable': () =>
    async function* () {
      yield 1
    },
  hangs: () => never,
  'mutates its event deeply': () => (event) => vandalize(event),
  'mutates its event deeply, later': () => async (event) => {
    await turn()
    vandalize(event)
  },
  'takes every hook of the operation out': (dispatcher) => (event) =>
    dispatcher.unregister(event.operationId),
  'registers other hooks': (dispatcher) => (event) => {
    dispatcher.register(event.operationId, [
      hook(
        event.hookType,
        () => {
          throw boom()
        },
        { id: crypto.randomUUID() },
      ),
    ])
  },
  'dispatches an event of another type': (dispatcher) => (event) => {
    if (event.hookType !== 'beforeStep')
      dispatcher.dispatch(event.operationId, 'beforeStep', { stepIndex: 9 })
  },
  'dispatches an unknown type': (dispatcher) => (event) =>
    dispatcher.dispatch(event.operationId, 'nonsense' as never, {}),
}

/** What no two runs have in common. */
const VARIES = /Ms$|^requestId$/
const options = { mockTimeoutMs: 5, ...failures() }

describe.each(Object.entries(HANDLERS))('a handler that %s', (_name, make) => {
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

describe('the time of the run', () => {
  it('does not contain what handlers wait for', async () => {
    const dispatcher = new HookDispatcher(options)
    const hooks = hooksOfEveryType(never).filter(({ type }) => type !== 'beforeToolCall')
    const startedAt = performance.now()

    await everything(dispatcher, { hooks })

    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })

  it('contains a hanging beforeToolCall handler for mockTimeoutMs at most, because it might mock', async () => {
    const dispatcher = new HookDispatcher({ mockTimeoutMs: 30, ...failures() })
    const op = dispatcher.startOperation({ hooks: [hook('beforeToolCall', never)] })
    const startedAt = performance.now()

    const outcome = await op.toolCall({ apiName: 'search', args: {} }, () => 'real')

    expect(outcome).toMatchObject({ state: 'completed', result: 'real' })
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })
})

describe('arguments and results that are hostile themselves', () => {
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
