import type { AnyHookType, HookEvent } from '../hooks/index.ts'
import { errorMessage, errorType } from '../internal/errors.ts'
import { a, expected, type Fields } from '../internal/expect.ts'
import { assertEventFields, type EventField } from './event-fields.ts'

/** What of an event leaves the process. */
export interface ToldFields<T extends AnyHookType> {
  /**
   * Names of the event's own fields that are sent, and no others: `['operationId', 'reason', 'totals']`. One that an event
   * does not have is left out of it; a name that no event has is an error. @default the event itself, prompts and results included
   */
  fields?: readonly EventField<T>[]
  /** What is sent of an event, where names of fields do not say it; not beside `fields`. */
  select?: (event: HookEvent<T>) => unknown
}

export const TOLD_FIELDS: Fields<ToldFields<AnyHookType>> = { fields: a.strings, select: a.function }

/** @throws HookspanError `INVALID_OPTION`. */
export function assertTold<T extends AnyHookType>({ fields, select }: ToldFields<T>, owner: string): void {
  if (fields !== undefined) assertEventFields(fields, owner)
  if (fields !== undefined && select !== undefined) {
    throw expected(`one of \`fields\` and \`select\` for ${owner}`, 'both')
  }
}

export function toldEvent<T extends AnyHookType>(
  event: HookEvent<T>,
  { fields, select }: ToldFields<T>,
): unknown {
  if (select !== undefined) return select(event)
  const whole = plain(event)
  if (fields === undefined) return whole
  return Object.fromEntries(Object.entries(whole).filter(([name]) => fields.includes(name as EventField<T>)))
}

/** Errors become what JSON can carry of them. */
function plain(event: object): object {
  const { error } = event as { error?: unknown }
  if (error === undefined) return event
  return { ...event, error: { name: errorType(error), message: errorMessage(error) } }
}
