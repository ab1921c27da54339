import type { AdapterCapabilities } from '../../dispatcher/run/capabilities.ts'

/** What `hookspanPlugin` can do. ADK has no way to stop a turn at one call and to go on with it in another process. */
export const GOOGLE_ADK_CAPABILITIES: AdapterCapabilities = {
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
  subAgents: true,
  compaction: false,
  abort: true,
}
