import { beginInDurableRun } from '../../dispatcher/run/durable-run.ts'
import { HookspanError } from '../../internal/errors.ts'

/**
 * Refuses in a durable run what would be done again, or lost, when it goes on in another process.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export function refuseInDurableRun(what: string, instead: string): void {
  if (beginInDurableRun() === undefined) return
  throw new HookspanError('NOT_CAPABLE', `A durable run ${what}, which is not kept. ${instead}`)
}
