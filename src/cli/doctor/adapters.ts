import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type AdapterCapabilities, CAPABILITIES, type Capability } from '../../adapter/index.ts'
import { AI_SDK_CAPABILITIES } from '../../adapters/ai-sdk/capabilities.ts'
import { ANTHROPIC_CAPABILITIES } from '../../adapters/anthropic/capabilities.ts'
import { CLAUDE_AGENT_CAPABILITIES } from '../../adapters/claude-agent/capabilities.ts'
import { COPILOT_CAPABILITIES } from '../../adapters/copilot/capabilities.ts'
import { GOOGLE_ADK_CAPABILITIES } from '../../adapters/google-adk/capabilities.ts'
import { GOOGLE_GENAI_CAPABILITIES } from '../../adapters/google-genai/capabilities.ts'
import { LANGCHAIN_CAPABILITIES } from '../../adapters/langchain/capabilities.ts'
import { MASTRA_CAPABILITIES } from '../../adapters/mastra/capabilities.ts'
import { MCP_CAPABILITIES } from '../../adapters/mcp/capabilities.ts'
import { CAPABILITIES as OPENAI_AGENTS_CAPABILITIES } from '../../adapters/openai-agents/capabilities.ts'
import { testedRange } from '../../adapters/peer-range.ts'
import { STRANDS_CAPABILITIES } from '../../adapters/strands/capabilities.ts'
import { findInstalled, isWithin } from '../../internal/version-range.ts'
import { dependenciesOf, sourceFiles } from '../init/project.ts'
import { installLine, runner } from '../install-line.ts'
import { type AdapterName, KNOWN_SDKS } from '../known-sdks.ts'
import type { Finding } from './finding.ts'

/** Without capabilities, it is for loops of the user's own, which can do all. */
const CAN: Readonly<Record<AdapterName, AdapterCapabilities | undefined>> = {
  openai: undefined,
  'ai-sdk': AI_SDK_CAPABILITIES,
  'openai-agents': OPENAI_AGENTS_CAPABILITIES,
  langchain: LANGCHAIN_CAPABILITIES,
  anthropic: ANTHROPIC_CAPABILITIES,
  'google-genai': GOOGLE_GENAI_CAPABILITIES,
  'claude-agent': CLAUDE_AGENT_CAPABILITIES,
  mastra: MASTRA_CAPABILITIES,
  copilot: COPILOT_CAPABILITIES,
  'google-adk': GOOGLE_ADK_CAPABILITIES,
  strands: STRANDS_CAPABILITIES,
  mcp: MCP_CAPABILITIES,
}

/**
 * Of each SDK that a project has: what attaches to it, where that is done, whether its version was tested, and what is
 * refused there.
 */
export function checkAdapters(project: string): Finding[] {
  const from = pathToFileURL(join(project, 'package.json')).href
  const { wanted, attached } = readSources(project)
  const found = new Map(KNOWN_SDKS.map(([sdk]) => [sdk, findInstalled(sdk, from)]))
  const hasOneFor = (adapter: AdapterName) => KNOWN_SDKS.some(([sdk, of]) => of === adapter && found.get(sdk))
  const told = new Set<AdapterName>()
  return KNOWN_SDKS.flatMap(([sdk, adapter]): Finding[] => {
    const installed = found.get(sdk)
    const check = `adapter:${sdk}`
    const can = CAN[adapter]
    const files = attached.get(adapter) ?? []
    if (installed === undefined) {
      // One of several packages is enough for an adapter.
      if ((files.length === 0 && !wanted.has(sdk)) || hasOneFor(adapter) || told.has(adapter)) return []
      told.add(adapter)
      const where = files.length === 0 ? 'package.json names it' : `attached in ${files.join(', ')}`
      const says = `${sdk} is not installed: hookspan/${adapter}, ${where}`
      return [{ check, state: 'note', says, mend: `Run: ${installLine([sdk], project)}` }]
    }
    const where = files.length === 0 ? '' : `, attached in ${files.join(', ')}`
    const says = `${sdk} ${installed.version}: hookspan/${adapter}${can === undefined ? '' : missing(can)}${where}`
    const range = testedRange(sdk) ?? ''
    if (!isWithin(installed.version, range)) {
      const mend = `Run: ${installLine([`${sdk}@"${range}"`], project)}`
      return [{ check, state: 'note', says: `${says}. It was tested with ${range}`, mend }]
    }
    // What another package brought along is none of this one's affair.
    if (files.length > 0 || !wanted.has(sdk)) return [{ check, state: 'ok', says }]
    const run = `${runner(project)} hookspan`
    const mend = `Run: ${run} init. Or start the program by: ${run} run -- ...`
    return [{ check, state: 'note', says: `${says}. No source here attaches it`, mend }]
  })
}

interface Sources {
  /** What package.json names. */
  readonly wanted: ReadonlySet<string>
  /** The sources that load an adapter. */
  readonly attached: ReadonlyMap<AdapterName, readonly string[]>
}

function readSources(project: string): Sources {
  const attached = new Map<AdapterName, string[]>()
  let wanted: ReadonlySet<string>
  try {
    wanted = dependenciesOf(JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')))
  } catch {
    return { wanted: new Set(), attached }
  }
  for (const file of sourceFiles(project)) {
    const text = readFileSync(join(project, file), 'utf8')
    for (const [, name] of text.matchAll(/['"]hookspan\/([\w-]+)['"]/g)) {
      const adapter = name as AdapterName
      if (Object.hasOwn(CAN, adapter)) attached.set(adapter, [...new Set(attached.get(adapter)).add(file)])
    }
  }
  return { wanted, attached }
}

function missing(can: AdapterCapabilities): string {
  const names = (Object.keys(CAPABILITIES) as Capability[]).filter((name) => !can[name])
  return names.length === 0
    ? ', all of the lifecycle'
    : `, all but ${names.join(', ')}, which is refused there`
}
