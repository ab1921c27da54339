import { AsyncLocalStorage } from 'node:async_hooks'
import { HookDispatcher, Operation } from 'hookspan'
import {
  AgentCall,
  CompactCall,
  HumanIntervention,
  OpenLlmCall,
  OpenStep,
  OpenToolCall,
} from 'hookspan/adapter'

/** All that an adapter calls of ours, by the classes that it is given objects of. */
const SEAM: readonly object[] = [
  HookDispatcher.prototype,
  ...[Operation, OpenStep, OpenToolCall, OpenLlmCall, AgentCall, CompactCall, HumanIntervention].flatMap(
    (one) => chainOf(one.prototype),
  ),
]

/** How the chosen call of the seam fails: in its place, or once it has done its work. */
export type FaultKind = 'instead' | 'after'

export const FAULT = 'injected fault'

export interface Seam {
  /** Calls that the adapter made, by name, in their order. */
  readonly calls: readonly string[]
  [Symbol.dispose](): void
}

const inside = new AsyncLocalStorage<boolean>()

/**
 * Counts the calls that adapters make of the core, and lets one of them fail. What the core calls of itself is not
 * counted; what it calls back is the adapter's again.
 *
 * @param at which call fails, from 1 on; 0: none.
 */
export function faultySeam(at: number, kind: FaultKind): Seam {
  const calls: string[] = []
  const undo = [...new Set(SEAM)].flatMap((prototype) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, own]) => {
      if (name === 'constructor') return []
      const key = own.get === undefined ? 'value' : 'get'
      const original = own[key] as unknown
      if (typeof original !== 'function') return []
      const faulty = function (this: unknown, ...args: unknown[]): unknown {
        const call = () => inside.run(true, () => Reflect.apply(original, this, args.map(leaving)))
        if (inside.getStore()) return Reflect.apply(original, this, args)
        calls.push(name)
        if (calls.length !== at) return call()
        if (kind === 'instead') return failing(original as () => unknown)
        const value = call()
        if (!isPromise(value)) throw new Error(FAULT)
        const failed = value.then(() => Promise.reject(new Error(FAULT)))
        // Whoever called may not wait for it.
        failed.catch(() => {})
        return failed
      }
      Object.defineProperty(prototype, name, { ...own, [key]: faulty })
      return [() => Object.defineProperty(prototype, name, own)]
    }),
  )
  return {
    calls,
    [Symbol.dispose]: () => {
      for (const one of undo) one()
    },
  }
}

function failing(original: () => unknown): unknown {
  const isAsync = Object.prototype.toString.call(original) === '[object AsyncFunction]'
  if (isAsync) return Promise.reject(new Error(FAULT))
  throw new Error(FAULT)
}

/** The adapter's own functions are outside again, also those in an object that it hands over. */
function leaving(arg: unknown): unknown {
  if (typeof arg === 'function') {
    return function (this: unknown, ...args: unknown[]) {
      return inside.run(false, () => Reflect.apply(arg, this, args))
    }
  }
  return arg
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise
}

function chainOf(prototype: object): object[] {
  const chain: object[] = []
  for (let at = prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) chain.push(at)
  return chain
}
