import type { AdapterCapabilities } from '../../adapter/index.ts'

/** What hookspan can do in a run of automatic function calling. */
export const GOOGLE_GENAI_CAPABILITIES: AdapterCapabilities = {
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
