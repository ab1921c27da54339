import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { SemconvProfile } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import { SUBJECTS } from '../adapter/subjects/index.ts'
import { Driver } from '../spans/drive.ts'
import { runPlan } from '../spans/plans.ts'
import { startOtlpStub } from '../support/otlp-stub.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { runCli } from '../support/run-cli.ts'
import { traced } from '../support/span-tree.ts'
import { type CheckedSpan, metricViolations, spanViolations } from './check.ts'
import { conformsInContract, metered } from './contract.ts'
import { ofOtlp, ofSdk } from './read.ts'

/** The runtime's own, in the plans. */
const PLANNED = ['tenant', 'tier', 'beta']
const known = (violations: string[]) =>
  [...new Set(violations)].filter(
    (one) => !PLANNED.some((name) => one.endsWith(`: ${name} is no attribute of the conventions`)),
  )

const violationsOf = (spans: readonly CheckedSpan[], profile: SemconvProfile): string[] =>
  known(spans.flatMap((span) => spanViolations(span, profile)))

it('finds what is wrong', () => {
  const span = { name: 'chat', kind: 'internal', failed: true, ok: false }
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'x',
    'gen_ai.request.seed': 'a',
    'server.address': 'x',
  }
  expect(spanViolations({ ...span, attributes }, 'latest')).toHaveLength(7)
  const metric = {
    name: 'gen_ai.execute_tool.duration',
    type: 'counter',
    unit: 'ms',
    description: '',
    bounds: [],
    points: [{}],
  }
  expect(metricViolations(metric)).toHaveLength(5)
})

describe.each(['latest', 'compat'] as const)('profile %s', (semconv) => {
  it('has no violation in random runs', async () => {
    using setup = traced(
      { captureContent: true, semconv },
      { onHookError: () => {}, priceOf: ({ usage }) => usage.inputTokens / 1_000 },
    )
    for (const plan of fc.sample(runPlan(2), { numRuns: 60, seed: 13 }))
      await new Driver(setup.dispatcher).finish(plan)
    expect(setup.spans().length).toBeGreaterThan(100)
    expect(violationsOf(setup.spans().map(ofSdk), semconv)).toEqual([])
  })
})

// Those of SDKs that test/sdks has: test/sdks/conformance.test.ts.
conformsInContract(SUBJECTS)

it('has no violation in the metrics of random runs', async () => {
  const { meter, metrics } = metered()
  using setup = traced({ meter, semconv: 'latest' }, { onHookError: () => {} })
  for (const plan of fc.sample(runPlan(2), { numRuns: 60, seed: 13 }))
    await new Driver(setup.dispatcher).finish(plan)
  const seen = await metrics()
  expect(seen.length).toBeGreaterThan(8)
  expect([...new Set(seen.flatMap(metricViolations))]).toEqual([])
})

it('has no violation in the demo', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-conformance-'))
  const out = join(folder, 'demo.otlp.json')
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  const { code, stderr } = await runCli(['demo', '--fast', '--out', out], { cwd: folder, env })
  expect(code, stderr).toBe(0)
  const spans = ofOtlp(readFileSync(out))
  rmSync(folder, { recursive: true, force: true })
  expect(spans.length).toBeGreaterThan(20)
  expect(violationsOf(spans, 'compat')).toEqual([])
})

/** Those that export spans and need nothing of test/sdks. */
const EXAMPLES = [
  'see-a-run.ts',
  'observe-openai.ts',
  'two-processes.ts',
  'ai-sdk/support.ts',
  'anthropic/agent.ts',
  'google-genai/agent.ts',
  'langchain/support.ts',
  'mcp/tools.ts',
  'openai-agents/support.ts',
]
it.each(EXAMPLES)('has no violation in examples/%s', async (name) => {
  await using collector = await startOtlpStub({ status: 200 })
  const command = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
  const { code, stderr } = await runCli([], { command, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  expect(code, stderr).toBe(0)
  const spans = collector.bodies.flatMap(ofOtlp)
  expect(spans.length).toBeGreaterThan(1)
  expect(violationsOf(spans, 'compat')).toEqual([])
})

const folder = recordingsFolder()
const RECORDINGS: [string, number][] = [
  ['tau-bench/gpt-4o-airline.json', 1_000],
  ['tau2-bench/airline_gpt-4.1.json', 100],
  ['swe-agent/ctf~crypto~eps.traj', 10],
]
it.skipIf(!folder).each(RECORDINGS)(
  'has no violation in %s, replayed',
  { timeout: 300_000 },
  async (name, least) => {
    const out = mkdtempSync(join(tmpdir(), 'hookspan-conformance-'))
    const file = join(out, 'replay.otlp.json')
    const recording = join(folder as string, name)
    const { code, stderr } = await runCli(['replay', recording, '--content', '--out', file])
    expect(code, stderr).toBe(0)
    const spans = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line) => ofOtlp(Buffer.from(line)))
    rmSync(out, { recursive: true, force: true })
    expect(spans.length).toBeGreaterThan(least)
    expect(violationsOf(spans, 'compat')).toEqual([])
  },
)
