import { appendFileSync } from 'node:fs'
import { RUN_REPORT } from '../internal/run-report.ts'

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
  } catch {
    // It is gone: nobody waits for it any more.
  }
}
