import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { IN_PROCESS } from '../capabilities.ts'

/** What `hookspanPlugin` can do. ADK has no way to stop a turn at one call and to go on with it in another process. */
export const GOOGLE_ADK_CAPABILITIES: AdapterCapabilities = IN_PROCESS

export const ADAPTER: AdapterInfo = { name: 'google-adk', capabilities: GOOGLE_ADK_CAPABILITIES }
