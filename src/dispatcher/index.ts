export { AgentCall, type CallAgentInit, type CalledAgent } from './calls/call-agent.ts'
export { CallMaker, currentCalls } from './calls/call-maker.ts'
export { CompactCall, type CompactInit, type CompactResult } from './calls/compact.ts'
export type { HeldCallDecision } from './calls/held-call.ts'
export type { LlmCallInit, LlmFunction, LlmRunContext } from './calls/llm-call-init.ts'
export { type LlmCallDecision, OpenLlmCall } from './calls/open-llm-call.ts'
export { OpenToolCall, type ToolCallDecision } from './calls/open-tool-call.ts'
export { OpenStep, Step, type StepInit } from './calls/step.ts'
export type { StepReport } from './calls/step-state.ts'
export type { ToolCallInit, ToolFunction, ToolRunContext } from './calls/tool-call-init.ts'
export { type ToolMessage, type ToolOutcome, ToolResult } from './calls/tool-outcome.ts'
export { HookDispatcher } from './dispatcher.ts'
export type { DrainReport } from './events/drain.ts'
export type { NamedHooks } from './events/named-hooks.ts'
export type { ApprovalMessage, GateDecidedMessage, HookFailure, HookRunMessage } from './events/report.ts'
export { HOOK_CHANNEL } from './events/report.ts'
export {
  type HumanAnswer,
  HumanIntervention,
  type HumanInterventionInit,
} from './humans/human-intervention.ts'
export { Operation } from './operation.ts'
export type { DispatcherStats, HookDispatcherOptions, PriceOf } from './options.ts'
export type {
  Activity,
  ActivityEnd,
  ActivityScope,
  AgentEnd,
  Annotation,
  CompactEnd,
  GateEnd,
  HumanEnd,
  Instrument,
  LlmEnd,
  OperationEnd,
  OperationInfo,
  ResumedSpan,
  StepEnd,
  ToolEnd,
} from './plugins/instrument.ts'
export type { Plugin } from './plugins/plugin.ts'
export type { StandIn, StandInAnswer, StandInCall } from './plugins/stand-in.ts'
export type { CompleteInit, CompleteResult } from './run/completion.ts'
export type { OperationInit, ParentOperation } from './run/operation-init.ts'
export type { ToolOutOfReach } from './run/out-of-reach.ts'
export type { ParkedOperation, SavedStep, WaitingCall } from './run/parked.ts'
export { type RunLedger, runLedgerOf, StateClaim } from './run/state-claim.ts'
