import { HookspanError } from '../internal/errors.ts'
import type { HookDispatcher } from './dispatcher.ts'
import { guardsOf } from './guards-of.ts'
import { assertDispatcher } from './is-dispatcher.ts'

/**
 * For who is at work inside of runs, and not only hears of them.
 *
 * @param whose the function that takes it, as messages name it.
 * @throws HookspanError `INVALID_OPTION`.
 */
export function assertOwnDispatcher(value: unknown, whose: string): asserts value is HookDispatcher {
  assertDispatcher(value, whose)
  if (guardsOf.has(value)) return
  throw new HookspanError(
    'INVALID_OPTION',
    `${whose} got the \`dispatcher\` of another copy of hookspan, whose runs it cannot take part in. Use one copy: ` +
      '`npm ls hookspan` shows those that are installed, a bundler makes more where it bundles hookspan several times, and ' +
      "so does Yarn's Plug'n'Play for each workspace that names hookspan: name it in one, and let the others import that.",
  )
}
