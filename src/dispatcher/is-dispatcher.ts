import { describeValue, HookspanError } from '../internal/errors.ts'
import { type Shape, shape } from '../internal/expect.ts'
import type { HookDispatcher } from './dispatcher.ts'
import type { Operation } from './operation.ts'

/** By what it can do, not by its class: another copy of hookspan may have made it. */
export const DISPATCHER: Shape = shape('a HookDispatcher', (value) => {
  const dispatcher = value as Partial<HookDispatcher> | null | undefined
  return typeof dispatcher?.startOperation === 'function' && typeof dispatcher.use === 'function'
})

/** By what `startOperation()` gives that nothing else has. */
export const OPERATION: Shape = shape(
  'an Operation of `startOperation()`',
  (value) => typeof (value as Partial<Operation> | null)?.asParent === 'function',
)

/** @throws HookspanError `INVALID_OPTION`. @param whose the function that takes it, as messages name it. */
export function assertDispatcher(value: unknown, whose: string): asserts value is HookDispatcher {
  if (DISPATCHER.fits(value)) return
  const message = `${whose} needs a \`dispatcher\`: new HookDispatcher(). Got ${describeValue(value)}.`
  throw new HookspanError('INVALID_OPTION', message)
}
