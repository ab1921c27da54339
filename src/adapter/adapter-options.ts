import type { HookDispatcher } from '../dispatcher/index.ts'
import { assertOwnDispatcher } from '../dispatcher/own-dispatcher.ts'
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
  assertOwnDispatcher(options?.dispatcher, whose)
  assertFields<O>(options, fields, whose)
}
