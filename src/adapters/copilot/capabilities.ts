import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { PARKING } from '../capabilities.ts'

/**
 * What `observeCopilot` can do. Model calls are made in Copilot's own process, which tells of them: nobody decides on one. A
 * run is parked for calls of your own tools; those that Copilot runs by itself, and those of agents that it calls (`task`),
 * are refused where they would have to wait.
 */
export const COPILOT_CAPABILITIES: AdapterCapabilities = { ...PARKING, streams: false, decideLlmCalls: false }

export const ADAPTER: AdapterInfo = { name: 'copilot', capabilities: COPILOT_CAPABILITIES }
