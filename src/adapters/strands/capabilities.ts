import type { AdapterCapabilities } from '../../dispatcher/run/capabilities.ts'

/** What `observeStrands` can do. Context managers shorten the conversation without telling anybody. */
export const STRANDS_CAPABILITIES: AdapterCapabilities = {
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
  park: true,
  subAgents: true,
  compaction: false,
  abort: true,
}
