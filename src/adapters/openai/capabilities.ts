import type { AdapterCapabilities } from '../../adapter/index.ts'
import { IN_PROCESS } from '../capabilities.ts'

/** What hookspan can do in a run of `chat.completions.runTools()`. */
export const OPENAI_CAPABILITIES: AdapterCapabilities = IN_PROCESS
