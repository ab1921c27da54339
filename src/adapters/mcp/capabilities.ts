import type { AdapterCapabilities } from '../../adapter/index.ts'
import { IN_PROCESS } from '../capabilities.ts'

/** What hookspan can do in a run whose tools are those of MCP servers. The run itself is told by its own loop. */
export const MCP_CAPABILITIES: AdapterCapabilities = { ...IN_PROCESS, subAgents: false }
