import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type AdapterCapabilities, CAPABILITIES, type Capability } from '../../adapter/index.ts'
import { AI_SDK_CAPABILITIES } from '../../adapters/ai-sdk/capabilities.ts'
import { ANTHROPIC_CAPABILITIES } from '../../adapters/anthropic/capabilities.ts'
import { CLAUDE_AGENT_CAPABILITIES } from '../../adapters/claude-agent/capabilities.ts'
import { GOOGLE_ADK_CAPABILITIES } from '../../adapters/google-adk/capabilities.ts'
import { GOOGLE_GENAI_CAPABILITIES } from '../../adapters/google-genai/capabilities.ts'
import { LANGCHAIN_CAPABILITIES } from '../../adapters/langchain/capabilities.ts'
import { MASTRA_CAPABILITIES } from '../../adapters/mastra/capabilities.ts'
import { MCP_CAPABILITIES } from '../../adapters/mcp/capabilities.ts'
import { CAPABILITIES as OPENAI_AGENTS_CAPABILITIES } from '../../adapters/openai-agents/capabilities.ts'
import { findInstalled, isWithin, testedRange } from '../../adapters/peer-range.ts'
import { STRANDS_CAPABILITIES } from '../../adapters/strands/capabilities.ts'
import type { Finding } from './finding.ts'

/** The SDKs that an adapter attaches to. Without capabilities, it is for loops of the user's own, which can do all. */
const ADAPTERS: readonly (readonly [sdk: string, subpath: string, can?: AdapterCapabilities])[] = [
  ['openai', 'openai'],
  ['ai', 'ai-sdk', AI_SDK_CAPABILITIES],
  ['@openai/agents', 'openai-agents', OPENAI_AGENTS_CAPABILITIES],
  ['langchain', 'langchain', LANGCHAIN_CAPABILITIES],
  ['@anthropic-ai/sdk', 'anthropic', ANTHROPIC_CAPABILITIES],
  ['@google/genai', 'google-genai', GOOGLE_GENAI_CAPABILITIES],
  ['@anthropic-ai/claude-agent-sdk', 'claude-agent', CLAUDE_AGENT_CAPABILITIES],
  ['@mastra/core', 'mastra', MASTRA_CAPABILITIES],
  ['@google/adk', 'google-adk', GOOGLE_ADK_CAPABILITIES],
  ['@strands-agents/sdk', 'strands', STRANDS_CAPABILITIES],
  ['@modelcontextprotocol/sdk', 'mcp', MCP_CAPABILITIES],
  ['@modelcontextprotocol/client', 'mcp', MCP_CAPABILITIES],
  ['@modelcontextprotocol/server', 'mcp', MCP_CAPABILITIES],
]

/** Of each SDK that a project has: what attaches to it, whether its version was tested, and what is refused there. */
export function checkAdapters(project: string): Finding[] {
  const from = pathToFileURL(join(project, 'package.json')).href
  return ADAPTERS.flatMap(([sdk, subpath, can]): Finding[] => {
    const installed = findInstalled(sdk, from)
    if (installed === undefined) return []
    const check = `adapter:${sdk}`
    const says = `${sdk} ${installed.version}: hookspan/${subpath}${can === undefined ? '' : missing(can)}`
    const range = testedRange(sdk) ?? ''
    if (isWithin(installed.version, range)) return [{ check, state: 'ok', says }]
    const mend = `Run: npm install ${sdk}@"${range}"`
    return [{ check, state: 'note', says: `${says}. It was tested with ${range}`, mend }]
  })
}

function missing(can: AdapterCapabilities): string {
  const names = (Object.keys(CAPABILITIES) as Capability[]).filter((name) => !can[name])
  return names.length === 0
    ? ', all of the lifecycle'
    : `, all but ${names.join(', ')}, which is refused there`
}
