export { execAgent } from './exec-agent.ts'
export { type ResumeAgentOptions, resumeAgent } from './resume-agent.ts'
export { RUN_STATE_VERSION, type SavedRun } from './saved-run.ts'
export type {
  Agent,
  AgentMessage,
  AgentRun,
  AgentTool,
  Compaction,
  ExecAgentOptions,
  JsonSchema,
  OpenAIClient,
  TextOrigin,
  ToolContext,
} from './types.ts'
