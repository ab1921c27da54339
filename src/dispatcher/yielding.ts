import type { HookDispatcher } from './dispatcher.ts'

/** Dispatchers of nobody's code, with what is to be done once code observes by itself what they observe. */
const yielding = new WeakMap<object, () => void>()

/** What this one observes is left to whoever observes it with a dispatcher of its own. */
export function yieldToOthers(dispatcher: HookDispatcher, told: () => void): void {
  yielding.set(dispatcher, told)
}

/** Whether what `before` observes is left to another one, who observes it now. It is told that it is. */
export function yieldsTo(before: HookDispatcher | undefined, dispatcher: HookDispatcher): boolean {
  const told = before === undefined || before === dispatcher ? undefined : yielding.get(before)
  told?.()
  return told !== undefined
}

/** Whether two that do not yield would observe one thing. The second one that does is told that the first has it. */
export function clashes(before: HookDispatcher | undefined, dispatcher: HookDispatcher): boolean {
  if (before === undefined || before === dispatcher || yieldsTo(before, dispatcher)) return false
  yielding.get(dispatcher)?.()
  return true
}
