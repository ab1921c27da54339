import type { HookDispatcher } from 'hookspan'
import { type Handler, hook, never, turn } from './support.ts'

export const boom = () => new Error('observer failed')

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
export const MISBEHAVING: Record<string, (dispatcher: HookDispatcher) => Handler> = {
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
