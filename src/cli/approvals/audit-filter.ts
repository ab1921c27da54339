import { assertGlob, matchesTool } from '../../internal/glob.ts'
import { nearestName } from '../../internal/nearest-name.ts'
import { lengthMs, timeMs } from '../../internal/when.ts'
import { UsageError } from '../failure.ts'
import { type Audited, type AuditedStatus, timeOf } from './audited.ts'

export interface AuditFilterFlags {
  approver?: string
  tool?: string
  run?: string
  request?: string
  status?: string
  since?: string
  until?: string
}

const STATUSES: readonly AuditedStatus[] = [
  'approved',
  'edited',
  'allowed',
  'rejected',
  'expired',
  'cancelled',
  'waiting',
  'refused',
]
const LET_RUN: ReadonlySet<string> = new Set(['approved', 'edited', 'allowed'])

/** @throws UsageError. */
export function auditFilter(flags: AuditFilterFlags): (one: Audited) => boolean {
  const { approver, tool, run, request, status } = flags
  const since = timeGiven('--since', flags.since)
  const until = timeGiven('--until', flags.until)
  if (tool !== undefined) assertGlob(tool, '--tool')
  if (status !== undefined && !STATUSES.includes(status as AuditedStatus)) {
    const nearest = nearestName(status, STATUSES)
    throw new UsageError(
      `Expected --status to be one of ${STATUSES.join(', ')}, got "${status}".${nearest ? ` Did you mean ${nearest}?` : ''}`,
    )
  }
  return (one) => {
    if (request !== undefined && one.requestId !== request) return false
    if (run !== undefined && one.operationId !== run && one.rootOperationId !== run) return false
    if (approver !== undefined && !namesOf(one).includes(approver)) return false
    if (
      tool !== undefined &&
      !(one.apiName !== undefined && matchesTool(tool, { ...one, apiName: one.apiName }))
    )
      return false
    if (
      status !== undefined &&
      !(one.status === status || (status === 'approved' && LET_RUN.has(one.status)))
    )
      return false
    if (since === undefined && until === undefined) return true
    const at = Date.parse(timeOf(one))
    return at >= (since ?? -Infinity) && at < (until ?? Infinity)
  }
}

/** Whose answer it is, who gave the yes for all, and who tried. */
function namesOf({ answer, allowedBy, attempts }: Audited): (string | undefined)[] {
  return [answer, allowedBy, ...attempts].map((said) => said?.approver)
}

/** A time without a zone is UTC, as those of the log are. */
function timeGiven(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const ago = lengthMs(given)
  const at = ago === undefined ? timeMs(given, 'utc') : Date.now() - ago
  if (at !== undefined) return at
  throw new UsageError(
    `Expected ${flag} to be a time, as 2026-11-01, 2026-11-01T09:30 (UTC) or 2026-11-01T09:30+01:00, or how long ago, as 90s, 30m, 2h, 7d or 2w, got "${given}".`,
  )
}
