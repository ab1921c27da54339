import type { Gate } from '../gates/index.ts'
import { a, assertFields, type Fields, named } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'

/** What all ready gates take. */
export interface ReadyGateOptions {
  /** Unique among the gates of one operation; the gate's own name when absent. */
  id?: string
  /** @default 100 */
  priority?: number
  /** Records what would have been decided and enforces nothing. @default false */
  shadow?: boolean
}

export const READY: Fields<ReadyGateOptions> = { id: a.name, priority: a.finite, shadow: a.boolean }

/**
 * What all ready gates have in common, once their options were held to their table.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function common<T extends ReadyGateOptions>(
  options: T,
  fields: Fields<T>,
  name: string,
): Pick<Gate, 'id' | 'priority' | 'shadow'> {
  assertFields<T>(options, fields, options?.id === undefined ? `gate "${name}"` : named('gate', options))
  const { id = name, priority, shadow } = options
  return defined({ id, priority, shadow })
}

/** What a gate keeps for the whole run tree. */
export function memory<T>(state: Map<string, unknown>, key: string, initial: () => T): T {
  if (!state.has(key)) state.set(key, initial())
  return state.get(key) as T
}
