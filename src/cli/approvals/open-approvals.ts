import {
  type Approvals,
  type AuditLog,
  auditLog,
  createApprovals,
  sqliteStore,
} from '../../approval/index.ts'
import { auditAt } from './audit.ts'

/** The requests of an SQLite file. Answers go the way all answers go: checked, once, and into the audit log. */
export function openApprovals(path: string, audit: string | undefined): Approvals {
  return createApprovals({
    store: sqliteStore({ path }),
    audit: audit === undefined ? undefined : openAudit(audit),
  })
}

/** @throws HookspanError for a path at which no log can be written. */
export function openAudit(path: string): AuditLog {
  return auditLog(auditAt(path))
}
