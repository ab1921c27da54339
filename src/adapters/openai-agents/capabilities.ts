import type { AdapterCapabilities, AdapterInfo } from '../../adapter/index.ts'
import { PARKING } from '../capabilities.ts'

/** What can be done with the Agents SDK. Its sessions compact by themselves, behind the run. */
export const CAPABILITIES: AdapterCapabilities = PARKING

export const ADAPTER: AdapterInfo = { name: 'openai-agents', capabilities: CAPABILITIES }
