import type { HookDispatcher } from '../dispatcher/index.ts'

const attached = new WeakMap<HookDispatcher, Set<Disposable>>()

/** Says what stands on a dispatcher until it is disposed. @returns takes it out again. */
export function attach(dispatcher: HookDispatcher, part: Disposable): () => void {
  const parts = attached.get(dispatcher) ?? new Set()
  attached.set(dispatcher, parts.add(part))
  return () => void parts.delete(part)
}

/** Mocks, replays and scripted humans that nobody has taken out yet. */
export const attachedTo = (dispatcher: HookDispatcher): readonly Disposable[] => [
  ...(attached.get(dispatcher) ?? []),
]
