import type { AuditOptions } from '../../approval/index.ts'

/** The log, and the key its entries are chained with. An empty variable is none. */
export function auditAt(path: string, key = process.env.HOOKSPAN_AUDIT_KEY): AuditOptions {
  return { path, ...(key && { key }) }
}
