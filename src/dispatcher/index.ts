export type { CallAgentInit } from './calls/call-agent.ts'
export type { CompactInit, CompactResult } from './calls/compact.ts'
export type { LlmCallInit, LlmFunction } from './calls/llm-call.ts'
export type { StandIn, StandInAnswer, StandInCall } from './calls/stand-in.ts'
export { CallMaker, Step, type StepReport } from './calls/step.ts'
export type { ToolCallInit, ToolFunction, ToolRunContext } from './calls/tool-call-init.ts'
export { type ToolMessage, type ToolOutcome, ToolResult } from './calls/tool-outcome.ts'
export { HookDispatcher } from './dispatcher.ts'
export type { DrainReport } from './events/drain.ts'
export type { NamedHooks } from './events/named-hooks.ts'
export type { ApprovalMessage, GateDecidedMessage, HookFailure, HookRunMessage } from './events/report.ts'
export { HOOK_CHANNEL } from './events/report.ts'
export { type CompleteInit, type CompleteResult, Operation } from './operation.ts'
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
  StepEnd,
  ToolEnd,
} from './plugins/instrument.ts'
export type { Plugin } from './plugins/plugin.ts'
export type {
  OperationInit,
  ParentOperation,
  ParkedOperation,
  SavedStep,
  WaitingCall,
} from './run/operation-init.ts'
