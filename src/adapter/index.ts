export {
  AgentCall,
  type CalledAgent,
  CompactCall,
  currentCalls,
  type HeldCallDecision,
  type HumanAnswer,
  HumanIntervention,
  type HumanInterventionInit,
  type LlmCallDecision,
  type LlmRunContext,
  OpenLlmCall,
  OpenStep,
  OpenToolCall,
  type StepInit,
  type ToolCallDecision,
  type ToolOutOfReach,
} from '../dispatcher/index.ts'
export {
  type AdapterCapabilities,
  type AdapterInfo,
  assertCan,
  CAPABILITIES,
  type Capability,
} from '../dispatcher/run/capabilities.ts'
export { type WrappedTool, type WrappedTools, type WrapToolsOptions, wrapTools } from './wrap-tools.ts'
