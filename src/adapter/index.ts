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
} from '../dispatcher/index.ts'
export {
  type AdapterCapabilities,
  type AdapterInfo,
  assertCan,
  CAPABILITIES,
  type Capability,
} from '../dispatcher/run/capabilities.ts'
