import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'

/** What `observeMastra` can do. Mastra tells of no compaction: what a memory processor leaves out is not told. */
export const MASTRA_CAPABILITIES: AdapterCapabilities = {
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

export const ADAPTER: AdapterInfo = { name: 'mastra', capabilities: MASTRA_CAPABILITIES }

const NONE = Object.fromEntries(Object.keys(MASTRA_CAPABILITIES).map((name) => [name, false]))

/** What runs past all of our places: networks, durable agents, and the methods for models of the AI SDK 4. */
export const UNREACHED: AdapterInfo = {
  name: 'mastra (out of reach)',
  capabilities: NONE as unknown as AdapterCapabilities,
}
