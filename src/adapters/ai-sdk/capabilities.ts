import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'

/** What `observeAISDK` can do. The SDK tells of no compaction: what `prepareStep` leaves out is not told. */
export const AI_SDK_CAPABILITIES: AdapterCapabilities = {
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

export const ADAPTER: AdapterInfo = { name: 'ai-sdk', capabilities: AI_SDK_CAPABILITIES }
