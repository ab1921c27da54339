export { type AgentWorkflow, agentWorkflow, type TemporalWorkflowSdk } from './agent-workflow.ts'
