export type { GatePoint, GateRecord } from '../hooks/index.ts'
export { GATE_POINTS } from '../hooks/index.ts'
export type {
  ApprovalAnswer,
  ApprovalRequest,
  Approver,
  ExecutionClaim,
  ExecutionLedger,
  HeardAnswer,
  ParkedApproval,
  RunClaim,
  SettledExecution,
} from './approver.ts'
export type { ApprovalChoice, ApprovalOptions, Decision, ReasonCode } from './decision.ts'
export { DECISION_SCHEMA_VERSION, deny, mutate, proceed, requireApproval, skip } from './decision.ts'
export type { Gate, GateContext, TreeTotals } from './gate.ts'
export { type GateAt, type GateContextAt, type GatePayloads, gateAt } from './gate-at.ts'
export type { GateFailureCode } from './run-gate.ts'
export { GateFailure } from './run-gate.ts'
