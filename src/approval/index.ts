export { verifySignature } from '../internal/signature.ts'
export type { AnswerOrigin } from './answer-origin.ts'
export type { ApprovalChannel, Approvals, ApprovalsOptions } from './approvals.ts'
export type { AuditEntry, AuditEvent, AuditReport } from './audit-chain.ts'
export { verifyAudit } from './audit-check.ts'
export { type AuditLog, type AuditOptions, auditLog } from './audit-log.ts'
export { createApprovals } from './create-approvals.ts'
export { memoryStore } from './memory-store.ts'
export { type RedisChannelOptions, readMessage, redisChannel, signedMessage } from './redis-channel.ts'
export type { RedisClient, RedisPlace } from './redis-client.ts'
export { type RedisStoreOptions, redisStore } from './redis-store.ts'
export { type ApprovalRoutes, type ApprovalRoutesOptions, approvalRoutes } from './routes.ts'
export { type ApprovalServer, type ServeApprovalsOptions, serveApprovals } from './serve-approvals.ts'
export { type SqliteStoreOptions, sqliteStore } from './sqlite-store.ts'
export type {
  ApprovalFilter,
  ApprovalRecord,
  ApprovalStatus,
  ApprovalStore,
  ClosedRecord,
  KeptAnswer,
  Retention,
} from './store.ts'
export { webhookChannel } from './webhook-channel.ts'
