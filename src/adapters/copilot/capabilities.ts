import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'

/**
 * What `observeCopilot` can do. Model calls are made in Copilot's own process, which tells of them: nobody decides on one. A
 * session has no way to hold a run up and go on with it in another process. Of the agents that Copilot calls by itself
 * (`task`) only the call is told; those that a tool of yours runs are whole.
 */
export const COPILOT_CAPABILITIES: AdapterCapabilities = {
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
  park: false,
  subAgents: true,
  compaction: false,
  abort: true,
}

export const ADAPTER: AdapterInfo = { name: 'copilot', capabilities: COPILOT_CAPABILITIES }
