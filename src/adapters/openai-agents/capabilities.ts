import type { AdapterCapabilities } from '../../adapter/index.ts'
import { PARKING } from '../capabilities.ts'

/** What can be done with the Agents SDK. Its sessions compact by themselves, behind the run. */
export const CAPABILITIES: AdapterCapabilities = PARKING
