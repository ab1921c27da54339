export type { AgentHook, HookContext } from './agent-hook.ts'
export type {
  AfterCallAgentEvent,
  AfterCompactEvent,
  AfterHumanInterventionEvent,
  AfterLlmCallEvent,
  AfterStepEvent,
  AfterToolCallEvent,
  BeforeCallAgentEvent,
  BeforeCompactEvent,
  BeforeHumanInterventionEvent,
  BeforeLlmCallEvent,
  BeforeStepEvent,
  BeforeToolCallEvent,
  CallAgentErrorEvent,
  CompactErrorEvent,
  CompleteEvent,
  ErrorEvent,
  EventBase,
  EventInit,
  HookEvent,
  HookEventMap,
  LlmCallErrorEvent,
  RunTotals,
  StartEvent,
  StopByHumanInterventionEvent,
  ToolCallContext,
  ToolCallErrorEvent,
} from './events.ts'
export { EVENT_SCHEMA_VERSION } from './events.ts'
export type { AnyHookType, ExtendedHookType, HookGroup, HookType } from './hook-types.ts'
export { EXTENDED_HOOK_TYPES, HOOK_GROUPS, HOOK_TYPES, isHookType } from './hook-types.ts'
export type {
  ApprovalOutcome,
  CompletionReason,
  HumanAction,
  LlmRequest,
  LlmResponse,
  PendingTool,
  StopReason,
  TokenUsage,
  ToolCallOutcome,
  ToolCallRequest,
  ToolMock,
  ToolSource,
} from './values.ts'
export { COMPLETION_REASONS } from './values.ts'
