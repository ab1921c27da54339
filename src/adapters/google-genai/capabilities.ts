import type { AdapterCapabilities } from '../../adapter/index.ts'
import { IN_PROCESS } from '../capabilities.ts'

/** What hookspan can do in a run of automatic function calling. */
export const GOOGLE_GENAI_CAPABILITIES: AdapterCapabilities = IN_PROCESS
