export type { DurableInput, DurableRun } from '../agent-run.ts'
export type { DurableLoop, LoopOutcome, LoopRun, LoopStep } from '../loop-run.ts'
export type { CallOutcome, DurableToolCall } from '../loop-tools.ts'
export { type DbosAgentOptions, type DbosWorkflow, durableAgent } from './durable-agent.ts'
