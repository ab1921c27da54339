export { parkedRun } from '../sdk-run/parked-run.ts'
export { type RunWithInit, runWith } from '../sdk-run/run-with.ts'
export { CLAUDE_AGENT_CAPABILITIES } from './capabilities.ts'
export { type ObserveClaudeAgentOptions, observeClaudeAgent } from './observe-claude-agent.ts'
