import { readFileSync } from 'node:fs'
import { type AdapterCapabilities, CAPABILITIES } from 'hookspan/adapter'
import { AI_SDK_CAPABILITIES } from 'hookspan/ai-sdk'
import { ANTHROPIC_CAPABILITIES } from 'hookspan/anthropic'
import { GOOGLE_GENAI_CAPABILITIES } from 'hookspan/google-genai'
import { LANGCHAIN_CAPABILITIES, LANGGRAPH_CAPABILITIES } from 'hookspan/langchain'
import { MCP_CAPABILITIES } from 'hookspan/mcp'
import { OPENAI_AGENTS_CAPABILITIES } from 'hookspan/openai-agents'
import { expect, it } from 'vitest'

const ADAPTERS: Readonly<Record<string, AdapterCapabilities>> = {
  'ai-sdk': AI_SDK_CAPABILITIES,
  'openai-agents': OPENAI_AGENTS_CAPABILITIES,
  langchain: LANGCHAIN_CAPABILITIES,
  'langchain, bare graphs': LANGGRAPH_CAPABILITIES,
  anthropic: ANTHROPIC_CAPABILITIES,
  'google-genai': GOOGLE_GENAI_CAPABILITIES,
  mcp: MCP_CAPABILITIES,
}

it('is told of each adapter in one table of docs/adapters.md what it can do', () => {
  const names = Object.keys(ADAPTERS)
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const table = [
    row(['', ...names.map((name) => `\`${name}\``)]),
    row(['---', ...names.map(() => '---')]),
    ...Object.entries(CAPABILITIES).map(([capability, what]) =>
      row([
        `\`${capability}\`: ${what}`,
        ...names.map((name) => (ADAPTERS[name]?.[capability as keyof AdapterCapabilities] ? 'yes' : 'no')),
      ]),
    ),
  ].join('\n')
  expect(readFileSync(new URL('../../docs/adapters.md', import.meta.url), 'utf8')).toContain(table)
})
