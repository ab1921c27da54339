import { types } from 'node:util'
import { runInNewContext } from 'node:vm'
import { Agent, RunContext, RunState } from '@openai/agents'
import { type AnyHookType, HookDispatcher } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { dispatcherWith, find } from '../support/told-events.ts'
import { ALL_TYPES, failures, type Handler, hook, hooksOfEveryType } from './support.ts'

class Order {
  readonly lines: string[] = ['shoes']
  readonly #secret = { key: 'k' }

  get size(): number {
    return this.lines.length
  }

  secret(): unknown {
    return this.#secret
  }
}

class Lines extends Array<string> {
  constructor() {
    super()
    throw new Error('a constructor of its own')
  }
}

class Index extends Map<string, object> {
  override set(): this {
    throw new Error('read only')
  }
  override clear(): void {
    throw new Error('read only')
  }
  override [Symbol.iterator](): MapIterator<[string, object]> {
    throw new Error('not to be looped over')
  }
}

function indexOf(item: object): Index {
  const index = new Index()
  Map.prototype.set.call(index, 'a', item)
  return index
}

/** What a runtime holds, with all that a hook could get hold of. */
function world(levels = 500) {
  const lines = Object.setPrototypeOf(['a'], Lines.prototype) as string[]
  const inner = { n: 1 }
  let deep: { inner?: object } = { inner }
  for (let i = 0; i < levels; i++) deep = { inner: deep }
  const state = {
    order: new Order(),
    bytes: Buffer.from([1, 2, 3]),
    floats: new Float32Array([1.5]),
    raw: new Uint8Array([7]).buffer,
    keyed: new Map([[{ name: 'key' }, { n: 1 }]]),
    lines,
    failure: Object.assign(new TypeError('no', { cause: { tries: [1] } }), { status: 429 }),
    pattern: /x/g,
    url: new URL('http://127.0.0.1/a'),
    index: indexOf(inner),
    elsewhere: runInNewContext(
      `({ map: new Map([['a', { n: 1 }]]), list: [{ n: 1 }], error: new Error('no') })`,
    ),
    broken: {
      list: [1],
      get bad(): string {
        throw new Error('not to be read')
      },
    },
    deep,
    self: undefined as unknown,
  }
  state.self = state
  return { state, inner }
}

/** Changes whatever it reaches, own fields and contents of all kinds, and calls the methods that it finds. */
function vandalize(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  const todo: unknown[] = [value]
  for (let i = 0; i < todo.length; i++) {
    const item = todo[i] as object
    if (ArrayBuffer.isView(item)) new Uint8Array(item.buffer, item.byteOffset, item.byteLength).fill(9)
    else if (item instanceof ArrayBuffer) new Uint8Array(item).fill(9)
    if (types.isMap(item)) todo.push(...[...Map.prototype.entries.call(item)].flat().filter(isObject))
    for (const key of Reflect.ownKeys(item)) {
      const part: unknown = Reflect.get(item, key)
      if (typeof part === 'object' && part !== null && !seen.has(part)) {
        seen.add(part)
        todo.push(part)
      } else if (typeof part !== 'object' && key !== 'length') Reflect.set(item, key, 'vandal')
    }
    if (Array.isArray(item)) Array.prototype.push.call(item, 'vandal')
    if (types.isMap(item)) Map.prototype.clear.call(item)
    if (item instanceof URL) item.pathname = '/vandal'
    Reflect.set(item, 'added', true)
  }
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null

function expectUntouched({ state, inner }: ReturnType<typeof world>): void {
  expect(state.order.lines).toEqual(['shoes'])
  expect([...state.bytes, ...state.floats, ...new Uint8Array(state.raw)]).toEqual([1, 2, 3, 1.5, 7])
  expect([...state.keyed]).toEqual([[{ name: 'key' }, { n: 1 }]])
  expect([...state.lines]).toEqual(['a'])
  expect(state.failure).toMatchObject({ message: 'no', status: 429, cause: { tries: [1] } })
  expect(state.pattern.lastIndex).toBe(0)
  expect(state.url.href).toBe('http://127.0.0.1/a')
  expect(state.broken.list).toEqual([1])
  expect(inner).toEqual({ n: 1 })
  expect(Map.prototype.get.call(state.index, 'a')).toBe(inner)
  const { map, list, error } = state.elsewhere
  expect([map.get('a'), [...list], error.message]).toEqual([{ n: 1 }, [{ n: 1 }], 'no'])
  expect(Object.keys(state)).not.toContain('added')
}

describe('what a runtime hands over', () => {
  /** Fields that have no name in our events, as LobeHub's runtime has them. */
  const init = ({ state }: ReturnType<typeof world>) => ({
    finalState: state,
    toolsCalling: [state],
    args: state,
    result: state.order,
    error: state.failure,
    [Symbol.for('state')]: state,
  })

  it.each(ALL_TYPES)(
    'is out of reach of %s hooks, one or several, whatever its fields are called',
    (type) => {
      for (const count of [1, 3]) {
        const runtime = world()
        const { list, onHookError } = failures()
        const dispatcher = new HookDispatcher({ onHookError })
        const seen: unknown[] = []
        const handler: Handler = (event) => {
          seen.push(event)
          vandalize(event)
        }
        const hooks = Array.from({ length: count }, (_item, i) => hook(type, handler, { id: `h${i}` }))
        dispatcher.register('op', hooks)

        dispatcher.dispatch('op', type, init(runtime))

        expect(list).toEqual([])
        expect(seen).toHaveLength(count)
        expectUntouched(runtime)
      }
    },
  )

  it('is copied with its class and its own fields, and without what is private to it', () => {
    const runtime = world(5_000)
    const dispatcher = new HookDispatcher(failures())
    const seen: Record<string, never>[] = []
    dispatcher.register('op', [hook('afterStep', (event) => void seen.push(event as never))])

    dispatcher.dispatch('op', 'afterStep', init(runtime))

    const { finalState } = seen[0] as unknown as { finalState: ReturnType<typeof world>['state'] }
    const { order, bytes, floats, failure, url, keyed, lines, broken, deep, self } = finalState
    expect(order).toBeInstanceOf(Order)
    expect([order.size, order.lines]).toEqual([1, ['shoes']])
    expect(() => order.secret()).toThrow(TypeError)
    expect(Buffer.isBuffer(bytes) && bytes.equals(runtime.state.bytes)).toBe(true)
    expect(floats).toEqual(new Float32Array([1.5]))
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure).toMatchObject({ message: 'no', status: 429, stack: runtime.state.failure.stack })
    expect(url).toEqual(new URL('http://127.0.0.1/a'))
    expect([...keyed]).toEqual([[{ name: 'key' }, { n: 1 }]])
    expect([lines instanceof Lines, lines[0]]).toEqual([true, 'a'])
    expect(broken).toEqual({ list: [1], bad: '[not readable: not to be read]' })
    expect(self).toBe(finalState)
    expect(finalState.index).toBeInstanceOf(Index)
    expect(finalState.index.get('a')).toEqual({ n: 1 })
    expect(finalState.elsewhere.map.get('a')).toEqual({ n: 1 })
    expect(types.isNativeError(finalState.elsewhere.error)).toBe(true)
    let depth = 0
    for (let at: { inner?: object } | undefined = deep; at; at = at.inner) depth++
    expect(depth).toBe(5_002)
  })

  it('is whole for the tool and its caller, while hooks of every type change all that they are given', async () => {
    const runtime = world()
    const dispatcher = new HookDispatcher(failures())
    const op = dispatcher.startOperation({ hooks: hooksOfEveryType((event) => vandalize(event)) })
    let given: unknown

    const outcome = await op.toolCall({ apiName: 'order', args: runtime.state }, (args) => {
      given = args
      return runtime.state.order
    })
    const failed = await op.toolCall({ apiName: 'order', args: {} }, () => {
      throw runtime.state.failure
    })
    await op.complete()

    expect(given).toBe(runtime.state)
    expect('result' in outcome && outcome.result).toBe(runtime.state.order)
    expect('error' in failed && failed.error).toBe(runtime.state.failure)
    expect(failed.toToolMessage().content).toBe('Error: no')
    expectUntouched(runtime)
  })

  it('is out of reach in small values, too, under names and symbols', () => {
    const key = Symbol('inner')
    const args = { a: { [key]: { n: 1 } }, [key]: { list: [{ n: 1 }] } }
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [
      hook('beforeToolCall', (event) => {
        const theirs = (event as unknown as { args: typeof args }).args
        vandalize(theirs)
        vandalize(theirs.a[key])
        vandalize(theirs[key])
      }),
    ])

    dispatcher.dispatch('op', 'beforeToolCall', { apiName: 'x', args })

    expect(args).toEqual({ a: { [key]: { n: 1 } }, [key]: { list: [{ n: 1 }] } })
  })

  it('says of an abort what the original says', async () => {
    const { dispatcher, events } = dispatcherWith()
    const operation = dispatcher.startOperation({ agentName: 'aborts' })
    const cause = { tries: [1] }
    const abort = Object.assign(new DOMException('no more', 'AbortError'), { cause })
    const asked = operation.llmCall({ model: 'm', request: { messages: [] } }, () => Promise.reject(abort))
    await asked.catch(() => {})
    await operation.complete()
    const error = find(events, 'onLlmCallError')?.error as DOMException & { cause: unknown }
    expect(error).not.toBe(abort)
    expect(error).toBeInstanceOf(DOMException)
    expect(String(error)).toBe('AbortError: no more')
    expect(error).toMatchObject({ code: DOMException.ABORT_ERR, stack: abort.stack, cause })
    expect(error.cause).not.toBe(cause)
  })

  it('can be written as JSON, also where its class would need what is private to it', async () => {
    class Secretive {
      readonly name = 'open'
      readonly #key = { k: 1 }
      readonly inner: unknown
      self: unknown = this
      constructor(inner?: unknown) {
        this.inner = inner
      }
      toJSON() {
        return { name: this.name, key: this.#key.k }
      }
    }
    class Plain {
      readonly name = 'plain'
      toJSON() {
        return { told: this.name }
      }
    }
    const agent = new Agent({ name: 'shop', instructions: 'Be brief.' })
    const state = new RunState(new RunContext({ user: 'ann' }), 'Where is order 7?', agent, 5)
    const dispatcher = new HookDispatcher(failures())
    const seen: unknown[] = []
    dispatcher.register('op', [
      hook('afterStep', (event) => void seen.push(JSON.parse(JSON.stringify(event)))),
    ])

    dispatcher.dispatch('op', 'afterStep', {
      state,
      secret: new Secretive(new Secretive()),
      plain: new Plain(),
    })
    await dispatcher.drain()

    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({
      state: { _context: { context: { user: 'ann' } }, _currentAgent: { name: 'shop' } },
      secret: { name: 'open', inner: { name: 'open' } },
      plain: { told: 'plain' },
    })
    expect(JSON.stringify(state)).toContain('"$schemaVersion"')
  })

  it('is different for each hook', () => {
    const dispatcher = new HookDispatcher(failures())
    const seen: unknown[] = []
    const take: Handler = (event) => void seen.push((event as unknown as { state: unknown }).state)
    dispatcher.register('op', [hook('afterStep', take, { id: 'a' }), hook('afterStep', take, { id: 'b' })])

    dispatcher.dispatch('op', 'afterStep' satisfies AnyHookType, { state: new Order() })

    expect(seen[0]).not.toBe(seen[1])
    expect(seen[0]).toEqual(seen[1])
  })
})
