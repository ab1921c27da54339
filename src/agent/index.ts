export { type RedisCheckpointsOptions, redisCheckpoints } from './checkpoint/redis-checkpoints.ts'
export { sqliteCheckpoints } from './checkpoint/sqlite-checkpoints.ts'
export type { CheckpointClaim, CheckpointStore, CheckpointWrite, KeptRun } from './checkpoint/store.ts'
export { discardRun, type UnfinishedRun, unfinishedRuns } from './checkpoint/unfinished.ts'
export { execAgent } from './exec-agent.ts'
export { type ResumeAgentOptions, resumeAgent } from './resume-agent.ts'
export type { AgentMessage } from './run-state.ts'
export { RUN_STATE_VERSION, type SavedRun } from './run-state.ts'
export type {
  Agent,
  AgentRun,
  AgentTool,
  Compaction,
  ExecAgentOptions,
  JsonSchema,
  OpenAIClient,
  TextOrigin,
  ToolContext,
} from './types.ts'
