import { hostname } from 'node:os'
import { NAMES, readNumber, readText } from '../model/attributes.ts'
import type { Attributes } from '../model/span.ts'

/** A started span of a process that cannot be asked after is given up when its run was silent for this long. */
export const SILENCE_MS = 10 * 60_000
/** A process that ended may have sent its last spans a moment ago. */
export const GRACE_MS = 3_000

/**
 * Whether a started span may still end. Its process is asked after when it is on this machine;
 * otherwise the run counts as alive until it has been silent for `SILENCE_MS`.
 */
export function mayStillEnd(resource: Attributes, silentMs: number): boolean {
  if (silentMs < GRACE_MS) return true
  const pid = readNumber(resource, NAMES.processId)
  const host = readText(resource, NAMES.hostName)
  if (pid !== undefined && (host === '' || host === hostname())) return isProcessAlive(pid)
  return silentMs < SILENCE_MS
}

function isProcessAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process answers with EPERM: it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
