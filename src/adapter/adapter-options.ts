import type { HookDispatcher } from '../dispatcher/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { assertFields, type Fields } from '../internal/expect.ts'

/**
 * Holds the options of what attaches another SDK to their table, the dispatcher first.
 *
 * @param whose the function that takes them, as messages name it.
 * @throws HookspanError `INVALID_OPTION`.
 */
export function assertAdapterOptions<O extends { dispatcher: HookDispatcher }>(
  options: O,
  fields: Fields<O>,
  whose: string,
): void {
  // Another copy of hookspan may have made it.
  if (typeof options?.dispatcher?.startOperation !== 'function') {
    throw new HookspanError('INVALID_OPTION', `${whose} needs a \`dispatcher\`: new HookDispatcher().`)
  }
  assertFields<O>(options, fields, whose)
}
