import { appendFileSync } from 'node:fs'
import {
  GUARDED,
  HEARD,
  LOADED,
  REFUSED,
  RUN_REPORT,
  RUN_SEEN,
  UNTAKEN,
  UNTRACED,
  WORKER_ENDED,
  WORKER_RAN,
} from '../internal/run-report.ts'
import { tell } from './tell.ts'

/** Of use to `hookspan run` alone. */
const SIGNS = [LOADED, REFUSED, GUARDED, RUN_SEEN, UNTAKEN, WORKER_RAN, WORKER_ENDED, HEARD]

const reported = new Set<string>()

/**
 * For `hookspan run`, which says at the end what was attached in all of the processes: at once, because a signal may end
 * this one. Each only once.
 */
export function report(said: string): void {
  const file = process.env[RUN_REPORT]
  if (file === undefined || reported.has(said)) return
  reported.add(said)
  try {
    appendFileSync(file, `${said}\n`)
  } catch (error) {
    // Else it is gone: nobody waits for it any more.
    const isForbidden = (error as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED'
    if (isForbidden && !SIGNS.some((sign) => said.startsWith(sign)))
      tell(said === UNTRACED ? 'not all of it could be traced.' : `attached ${said}.`)
  }
}
