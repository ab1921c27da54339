export { execAgent } from './exec-agent.ts'
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
