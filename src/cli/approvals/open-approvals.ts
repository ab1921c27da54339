import { type Approvals, auditLog, createApprovals, sqliteStore } from '../../approval/index.ts'
import { auditAt } from './audit.ts'

/** The requests of an SQLite file. Answers go the way all answers go: checked, once, and into the audit log. */
export function openApprovals(path: string, audit: string | undefined): Approvals {
  return createApprovals({
    store: sqliteStore({ path }),
    audit: audit === undefined ? undefined : auditLog(auditAt(audit)),
  })
}
