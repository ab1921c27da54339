import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { spanViolations } from '../conformance/check.ts'
import { conformsInContract } from '../conformance/contract.ts'
import { ofOtlp } from '../conformance/read.ts'
import { startOtlpStub } from '../support/otlp-stub.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'
import { runProgram } from './support/elsewhere.ts'

// The rules of test/conformance, for what that suite has no SDK of.
conformsInContract([claudeAgentSubject, copilotSubject, googleAdkSubject, mastraSubject, strandsSubject])

const EXAMPLES = [
  'claude-agent/support.ts',
  'copilot/agent.ts',
  'google-adk/agent.ts',
  'mastra/support.ts',
  'strands/support.ts',
]
it.each(EXAMPLES)('has no violation in examples/%s', async (name) => {
  await using collector = await startOtlpStub({ status: 200 })
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  await runProgram(fileURLToPath(new URL(`../../examples/${name}`, import.meta.url)), [], { env })
  const spans = collector.bodies.flatMap(ofOtlp)
  expect(spans.length).toBeGreaterThan(2)
  expect([...new Set(spans.flatMap((span) => spanViolations(span, 'compat')))]).toEqual([])
})
