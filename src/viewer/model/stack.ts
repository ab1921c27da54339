import { EXCEPTION_EVENT, NAMES, readText } from './attributes.ts'
import type { SpanRecord } from './span.ts'

/** Where the error of a span was thrown, as the last of its exceptions tells; empty where none does. */
export function stackOf({ events }: Pick<SpanRecord, 'events'>): string {
  const thrown = events.findLast(({ name }) => name === EXCEPTION_EVENT)
  return thrown === undefined ? '' : readText(thrown.attributes, NAMES.exceptionStack)
}
