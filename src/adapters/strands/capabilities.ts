import type { AdapterCapabilities } from '../../dispatcher/run/capabilities.ts'
import { PARKING } from '../capabilities.ts'

/** What `observeStrands` can do. Context managers shorten the conversation without telling anybody. */
export const STRANDS_CAPABILITIES: AdapterCapabilities = PARKING
