import type { HookDispatcher } from './dispatcher.ts'

/** Dispatchers of nobody's code, with what is to be done once code observes by itself what they observe. */
const yielding = new WeakMap<object, () => void>()

/** What this one observes is left to whoever observes it with a dispatcher of its own. */
export function yieldToOthers(dispatcher: HookDispatcher, told: () => void): void {
  yielding.set(dispatcher, told)
}

/** Whether what is observed by this one is left to others. It is told that it is. */
export function hasYielded(dispatcher: HookDispatcher): boolean {
  const told = yielding.get(dispatcher)
  told?.()
  return told !== undefined
}
