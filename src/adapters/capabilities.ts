import type { AdapterCapabilities } from '../dispatcher/run/capabilities.ts'

/**
 * What an adapter can do where its SDK asks it about each model call and each tool call, in one process. Others say in what
 * they differ. What is new is `false` here until somebody has shown it of each of them.
 */
export const IN_PROCESS: AdapterCapabilities = {
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
  // No SDK asks before it shortens a conversation.
  compaction: false,
  abort: true,
}

/** Where the provider runs the agent, and only its tools are run here. */
export const HOSTED: AdapterCapabilities = {
  ...IN_PROCESS,
  steps: false,
  llmCalls: false,
  streams: false,
  decideLlmCalls: false,
}

/** Where the SDK can stop at a call, and go on with it in another process, too. */
export const PARKING: AdapterCapabilities = { ...IN_PROCESS, park: true }

/** Where it runs past all places at which anybody could be asked. */
export const NONE = Object.fromEntries(
  Object.keys(IN_PROCESS).map((name) => [name, false]),
) as unknown as AdapterCapabilities
