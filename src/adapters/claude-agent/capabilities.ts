import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { PARKING } from '../capabilities.ts'

/**
 * What `observeClaudeAgent` can do. Model calls are made in Claude Code's own process, which tells of them: nobody decides on
 * one, and none is left in the middle. Compactions are told, too.
 */
export const CLAUDE_AGENT_CAPABILITIES: AdapterCapabilities = {
  ...PARKING,
  streams: false,
  decideLlmCalls: false,
}

export const ADAPTER: AdapterInfo = { name: 'claude-agent', capabilities: CLAUDE_AGENT_CAPABILITIES }
