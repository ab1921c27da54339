export type { CallAgentInit } from './call-agent.ts'
export type { CompactInit, CompactResult } from './compact.ts'
export { HookDispatcher } from './dispatcher.ts'
export type { DrainReport } from './drain.ts'
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
} from './instrument.ts'
export type { LlmCallInit, LlmFunction } from './llm-call.ts'
export type { NamedHooks } from './named-hooks.ts'
export { type CompleteInit, type CompleteResult, Operation } from './operation.ts'
export type {
  OperationInit,
  ParentOperation,
  ParkedOperation,
  SavedStep,
  WaitingCall,
} from './operation-init.ts'
export type { DispatcherStats, HookDispatcherOptions, PriceOf } from './options.ts'
export type { Plugin } from './plugin.ts'
export type { ApprovalMessage, GateDecidedMessage, HookFailure, HookRunMessage } from './report.ts'
export { HOOK_CHANNEL } from './report.ts'
export type { StandIn, StandInAnswer, StandInCall } from './stand-in.ts'
export { CallMaker, Step, type StepReport } from './step.ts'
export type { ToolCallInit, ToolFunction, ToolRunContext } from './tool-call-init.ts'
export { type ToolMessage, type ToolOutcome, ToolResult } from './tool-outcome.ts'
