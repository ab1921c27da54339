import { type AdapterCapabilities, CAPABILITIES } from 'hookspan/adapter'
import { adapterContract } from 'hookspan/adapter/contract'
import { AI_SDK_CAPABILITIES } from 'hookspan/ai-sdk'
import { ANTHROPIC_CAPABILITIES } from 'hookspan/anthropic'
import { CLAUDE_AGENT_CAPABILITIES } from 'hookspan/claude-agent'
import { COPILOT_CAPABILITIES } from 'hookspan/copilot'
import { GOOGLE_ADK_CAPABILITIES } from 'hookspan/google-adk'
import { GOOGLE_GENAI_CAPABILITIES } from 'hookspan/google-genai'
import { LANGCHAIN_CAPABILITIES, LANGGRAPH_CAPABILITIES } from 'hookspan/langchain'
import { MASTRA_CAPABILITIES } from 'hookspan/mastra'
import { MCP_CAPABILITIES } from 'hookspan/mcp'
import { OPENAI_CAPABILITIES } from 'hookspan/openai'
import { OPENAI_AGENTS_CAPABILITIES } from 'hookspan/openai-agents'
import { STRANDS_CAPABILITIES } from 'hookspan/strands'
import { expect, it } from 'vitest'
import { docsPage, markdownTable } from '../support/docs-page.ts'

const ADAPTERS: Readonly<Record<string, AdapterCapabilities>> = {
  'openai, runTools': OPENAI_CAPABILITIES,
  'ai-sdk': AI_SDK_CAPABILITIES,
  'openai-agents': OPENAI_AGENTS_CAPABILITIES,
  langchain: LANGCHAIN_CAPABILITIES,
  'langchain, bare graphs': LANGGRAPH_CAPABILITIES,
  anthropic: ANTHROPIC_CAPABILITIES,
  'google-genai': GOOGLE_GENAI_CAPABILITIES,
  mcp: MCP_CAPABILITIES,
  mastra: MASTRA_CAPABILITIES,
  strands: STRANDS_CAPABILITIES,
  'claude-agent': CLAUDE_AGENT_CAPABILITIES,
  'google-adk': GOOGLE_ADK_CAPABILITIES,
  copilot: COPILOT_CAPABILITIES,
}

const namesOf = (adapters: object) => Object.keys(adapters).map((name) => `\`${name}\``)
const HELD = { whole: 'yes', refused: 'refused', nothing: '-' }

it('is told of each adapter in one table of docs/adapters.md what it can do', () => {
  const rows = Object.entries(CAPABILITIES).map(([capability, what]) => [
    `\`${capability}\`: ${what}`,
    ...Object.values(ADAPTERS).map((can) => (can[capability as keyof AdapterCapabilities] ? 'yes' : 'no')),
  ])
  expect(docsPage('adapters.md')).toContain(markdownTable(['', ...namesOf(ADAPTERS)], rows))
})

it('is told of each adapter in one table of docs/adapters/compared.md what the contract holds it to', () => {
  const unused = () => Promise.reject(new Error('nothing is run here'))
  // Bare graphs are observed, and held to that by tests of their own.
  const { 'langchain, bare graphs': _bare, ...held } = ADAPTERS
  const columns = Object.entries(held).map(([name, capabilities]) =>
    adapterContract({ name, capabilities, run: unused }),
  )
  const rows = (columns[0] ?? []).map(({ name }, index) => [
    name,
    ...columns.map((scenarios) => HELD[scenarios[index]?.held ?? 'nothing']),
  ])
  expect(docsPage('adapters/compared.md')).toContain(markdownTable(['', ...namesOf(held)], rows))
})
