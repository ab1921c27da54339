import type { AdapterCapabilities, AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { NONE, PARKING } from '../capabilities.ts'

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

/** Where Claude Code asks no hooks, as in its bare mode: its tools run past all that was to decide on them. */
export const WITHOUT_HOOKS: AdapterInfo = {
  name: 'claude-agent (a Claude Code that asks no hooks)',
  capabilities: { ...NONE, steps: true, llmCalls: true },
}
