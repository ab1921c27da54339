import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'

/**
 * What `observeClaudeAgent` can do. Model calls are made in Claude Code's own process, which tells of them: nobody decides on
 * one, and none is left in the middle. Compactions are told when they are over.
 */
export const CLAUDE_AGENT_CAPABILITIES: AdapterCapabilities = {
  steps: true,
  llmCalls: true,
  streams: false,
  decideLlmCalls: false,
  toolCalls: true,
  denyToolCalls: true,
  changeArguments: true,
  changeResults: true,
  mockToolCalls: true,
  askHuman: true,
  park: true,
  subAgents: true,
  compaction: false,
  abort: true,
}

export const ADAPTER: AdapterInfo = { name: 'claude-agent', capabilities: CLAUDE_AGENT_CAPABILITIES }
