import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { SemconvProfile } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import { SUBJECTS } from '../adapter/subjects/index.ts'
import { Driver } from '../spans/drive.ts'
import { runPlan } from '../spans/plans.ts'
import { traced } from '../support/span-tree.ts'
import { type CheckedSpan, metricViolations, spanViolations } from './check.ts'
import { conformsInContract, metered } from './contract.ts'
import { programSeen } from './programs.ts'
import { ofSdk } from './read.ts'
import { PROFILES, type Seen, violationsOf } from './watch.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

/** The runtime's own, in the plans. */
const PLANNED = ['tenant', 'tier', 'beta']
const known = (violations: string[]) =>
  [...new Set(violations)].filter(
    (one) => !PLANNED.some((name) => one.endsWith(`: ${name} is no attribute of the conventions`)),
  )

const unplanned = (spans: readonly CheckedSpan[], profile: SemconvProfile): string[] =>
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
  expect(metricViolations(metric, 'latest')).toHaveLength(5)
  const renamed = { ...metric, name: 'gen_ai.client.token.usage' }
  expect(metricViolations(renamed, 'latest')).toEqual(['metric gen_ai.client.token.usage: not known'])
  const later = { ...metric, name: 'gen_ai.client.inference.duration' }
  expect(metricViolations(later, 'compat')).toHaveLength(1)
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
    expect(unplanned(setup.spans().map(ofSdk), semconv)).toEqual([])
  })
})

// Those of SDKs that test/sdks has: test/sdks/conformance.test.ts.
conformsInContract(SUBJECTS)

it.each(PROFILES)('has no violation in the metrics of random runs, profile %s', async (semconv) => {
  const { meter, metrics } = metered()
  using setup = traced({ meter, semconv }, { onHookError: () => {} })
  for (const plan of fc.sample(runPlan(2), { numRuns: 60, seed: 13 }))
    await new Driver(setup.dispatcher).finish(plan)
  const seen = await metrics()
  expect(seen.length).toBeGreaterThan(semconv === 'latest' ? 8 : 5)
  expect([...new Set(seen.flatMap((metric) => metricViolations(metric, semconv)))]).toEqual([])
})

function expectConform(seen: Seen, leastSpans: number) {
  for (const profile of PROFILES) {
    expect(seen[profile].spans.length).toBeGreaterThanOrEqual(leastSpans)
    expect(seen[profile].metrics.map(({ name }) => name)).toContain('gen_ai.invoke_agent.duration')
  }
  expect(violationsOf(seen)).toEqual([])
}

it('has no violation in the demo, in its spans and metrics', async () => {
  const seen = await programSeen([BIN, 'demo', '--fast'], {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  })
  expectConform(seen, 20)
})

/** Each example that is a program; those that are tests are watched as they run (setup.ts). */
const NO_PROGRAM =
  /\.test\.ts$|scripted\.ts$|\d-first-test\.ts$|support-agent\.ts$|-worker\.ts$|names\.ts$|refunds\.ts$|record\.ts$/
/** test/sdks has them: test/sdks/conformance.test.ts. */
const OF_SDKS = /^(claude-agent|mastra|strands|google-adk|copilot)\//
/** An agent that `start.ts` runs, and Temporal, which test/durable/example.test.ts runs where there is one. */
const OF_DURABLE = /^durable\/(agent\.ts$|temporal\/)/
const EXAMPLES = globSync('**/*.ts', { cwd: fileURLToPath(new URL('../../examples', import.meta.url)) })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => ![NO_PROGRAM, OF_SDKS, OF_DURABLE].some((left) => left.test(name)))
  .sort()

it.each(EXAMPLES)('has no violation in examples/%s', async (name) => {
  const path = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-conformance-'))
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', REFUNDS_FOLDER: folder }
  expectConform(await programSeen([path], env), 2)
  rmSync(folder, { recursive: true })
})
