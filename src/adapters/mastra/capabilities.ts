import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { NONE, PARKING } from '../capabilities.ts'

/** What `observeMastra` can do. Mastra tells of no compaction: what a memory processor leaves out is not told. */
export const MASTRA_CAPABILITIES: AdapterCapabilities = PARKING

export const ADAPTER: AdapterInfo = { name: 'mastra', capabilities: MASTRA_CAPABILITIES }

/** What runs past all of our places: networks, durable agents, and the methods for models of the AI SDK 4. */
export const UNREACHED: AdapterInfo = {
  name: 'mastra (out of reach)',
  capabilities: NONE,
}
