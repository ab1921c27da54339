import type { AdapterCapabilities } from '../../adapter/index.ts'

/** What can be done with the Agents SDK. */
export const CAPABILITIES: AdapterCapabilities = {
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
  // The SDK's sessions compact by themselves, behind the run.
  compaction: false,
  abort: true,
}
