import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { PARKING } from '../capabilities.ts'

/** What `observeAISDK` can do. The SDK tells of no compaction: what `prepareStep` leaves out is not told. */
export const AI_SDK_CAPABILITIES: AdapterCapabilities = PARKING

export const ADAPTER: AdapterInfo = { name: 'ai-sdk', capabilities: AI_SDK_CAPABILITIES }
