import type { AdapterCapabilities } from '../../dispatcher/run/capabilities.ts'
import { PARKING } from '../capabilities.ts'

/** What `hookspanMiddleware` can do. Summaries are told when they are made: no gate can decide on one. */
export const LANGCHAIN_CAPABILITIES: AdapterCapabilities = PARKING

/** What `hookspanCallbacks` can do: callbacks are told, and asked nothing. */
export const LANGGRAPH_CAPABILITIES: AdapterCapabilities = {
  steps: false,
  llmCalls: true,
  streams: true,
  decideLlmCalls: false,
  toolCalls: true,
  denyToolCalls: false,
  changeArguments: false,
  changeResults: false,
  mockToolCalls: false,
  askHuman: false,
  park: false,
  subAgents: false,
  compaction: false,
  abort: true,
}
