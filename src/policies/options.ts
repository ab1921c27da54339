import type { Gate } from '../gates/index.ts'
import { describeValue, HookspanError } from '../internal/errors.ts'

export { assertKnown } from '../internal/known-keys.ts'

/** What all ready gates take. */
export interface ReadyGateOptions {
  /** Unique among the gates of one operation; the gate's own name when absent. */
  id?: string
  /** @default 100 */
  priority?: number
  /** Records what would have been decided and enforces nothing. @default false */
  shadow?: boolean
}

export function common(options: ReadyGateOptions, id: string): Pick<Gate, 'id' | 'priority' | 'shadow'> {
  const { priority, shadow } = options
  return {
    id: options.id ?? id,
    ...(priority !== undefined && { priority }),
    ...(shadow !== undefined && { shadow }),
  }
}

/** @throws HookspanError `INVALID_OPTION`. */
export function assertLimit(value: unknown, name: string, owner: string, minimum = 0): void {
  if (value === undefined || (typeof value === 'number' && value >= minimum)) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected \`${name}\` of ${owner} to be a number >= ${minimum}, got ${describeValue(value)}.`,
  )
}

/** @throws HookspanError `INVALID_OPTION`. */
export function assertGlobs(value: unknown, name: string, owner: string): void {
  if (value === undefined) return
  if (Array.isArray(value) && value.every((glob) => typeof glob === 'string' && glob !== '')) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected \`${name}\` of ${owner} to be a list of tool names or globs, got ${describeValue(value)}.`,
  )
}

/** What a gate keeps for the whole run tree. */
export function memory<T>(state: Map<string, unknown>, key: string, initial: () => T): T {
  if (!state.has(key)) state.set(key, initial())
  return state.get(key) as T
}
