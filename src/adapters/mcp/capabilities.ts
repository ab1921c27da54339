import type { AdapterCapabilities } from '../../adapter/index.ts'

/** What hookspan can do in a run whose tools are those of MCP servers. The run itself is told by its own loop. */
export const MCP_CAPABILITIES: AdapterCapabilities = {
  steps: true,
  llmCalls: true,
  streams: true,
  decideLlmCalls: true,
  toolCalls: true,
  denyToolCalls: true,
  changeArguments: true,
  changeResults: true,
  mockToolCalls: true,
  askHuman: true,
  park: false,
  subAgents: false,
  compaction: false,
  abort: true,
}
