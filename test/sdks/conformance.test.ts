import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { seenBy } from '../conformance/programs.ts'
import { PROFILES, violationsOf } from '../conformance/watch.ts'
import { runProgram } from './support/elsewhere.ts'

// The rules of test/conformance, for what that suite has no SDK of. Contract runs: comparison.test.ts.
const EXAMPLES = [
  'claude-agent/ask-a-human.ts',
  'claude-agent/support.ts',
  'copilot/agent.ts',
  'copilot/ask-a-human.ts',
  'google-adk/agent.ts',
  'mastra/ask-a-human.ts',
  'mastra/support.ts',
  'strands/support.ts',
]
it.each(EXAMPLES)('has no violation in examples/%s', async (name) => {
  const path = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
  const more = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  const seen = await seenBy((env) => runProgram(path, [], { env: { ...env, ...more }, input: 'y\n' }))
  for (const profile of PROFILES) {
    expect(seen[profile].spans.length).toBeGreaterThan(2)
    expect(seen[profile].metrics.map(({ name }) => name)).toContain('gen_ai.invoke_agent.duration')
  }
  expect(violationsOf(seen)).toEqual([])
})
