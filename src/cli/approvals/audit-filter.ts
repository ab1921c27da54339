import { assertGlob, matchesTool } from '../../internal/glob.ts'
import { nearestName } from '../../internal/nearest-name.ts'
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
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

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
  const [, count, unit] = /^(\d+)([mhdw])$/.exec(given) ?? []
  if (count !== undefined) return Date.now() - Number(count) * (UNITS[unit as string] as number)
  const [, zone] = /^\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?$/.exec(
    given,
  ) ?? ['x', 'none']
  const at =
    zone === 'none' ? Number.NaN : Date.parse(given.includes('T') && zone === undefined ? `${given}Z` : given)
  if (Number.isFinite(at)) return at
  throw new UsageError(
    `Expected ${flag} to be a time, as 2026-11-01, 2026-11-01T09:30 (UTC) or 2026-11-01T09:30+01:00, or how long ago, as 7d, got "${given}".`,
  )
}
