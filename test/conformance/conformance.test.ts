import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import fc from 'fast-check'
import type { HookDispatcher } from 'hookspan'
import { adapterContract } from 'hookspan/adapter/contract'
import { type SemconvProfile, traceHooks } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import { SUBJECTS } from '../adapter/subjects/index.ts'
import { Driver } from '../spans/drive.ts'
import { runPlan } from '../spans/plans.ts'
import { startOtlpStub } from '../support/otlp-stub.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { runCli } from '../support/run-cli.ts'
import { traced } from '../support/span-tree.ts'
import { type CheckedMetric, type CheckedSpan, metricViolations, spanViolations } from './check.ts'
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

  it.each(SUBJECTS)('has no violation in the contract runs of $name', async (subject) => {
    using setup = traced({ semconv, captureContent: true })
    const watched = new WeakSet<HookDispatcher>()
    const run: typeof subject.run = (asked) => {
      if (!watched.has(asked.dispatcher)) {
        watched.add(asked.dispatcher)
        asked.dispatcher.use(
          traceHooks({ tracer: setup.tracer, meter: false, semconv, captureContent: true }),
        )
      }
      return subject.run(asked)
    }
    for (const scenario of adapterContract({ ...subject, run })) await scenario.run()
    expect(setup.spans().length).toBeGreaterThan(10)
    expect(violationsOf(setup.spans().map(ofSdk), semconv)).toEqual([])
  })
})

it('has no violation in the metrics of random runs', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  })
  using setup = traced({ meter: provider.getMeter('test'), semconv: 'latest' }, { onHookError: () => {} })
  for (const plan of fc.sample(runPlan(2), { numRuns: 60, seed: 13 }))
    await new Driver(setup.dispatcher).finish(plan)
  await provider.forceFlush()
  const metrics = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap((scope) => scope.metrics)
    .map(({ descriptor, dataPoints }): CheckedMetric => {
      const value = dataPoints[0]?.value as { buckets?: { boundaries: number[] } } | number | undefined
      const buckets = typeof value === 'object' ? value.buckets : undefined
      const { name, unit, description } = descriptor
      const points = dataPoints.map(({ attributes }) => attributes)
      return {
        name,
        unit,
        description,
        type: buckets ? 'histogram' : 'counter',
        bounds: buckets?.boundaries,
        points,
      }
    })
  await provider.shutdown()
  expect(metrics.length).toBeGreaterThan(8)
  expect([...new Set(metrics.flatMap(metricViolations))]).toEqual([])
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

it.each(['see-a-run.ts', 'observe-sub-agents.ts', 'own-loop.ts'])(
  'has no violation in examples/%s',
  async (name) => {
    await using collector = await startOtlpStub({ status: 200 })
    const command = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const { code, stderr } = await runCli([], { command, env })
    expect(code, stderr).toBe(0)
    expect(violationsOf(collector.bodies.flatMap(ofOtlp), 'compat')).toEqual([])
  },
)

const folder = recordingsFolder()
it.skipIf(!folder)('has no violation in replayed recordings', async () => {
  const out = mkdtempSync(join(tmpdir(), 'hookspan-conformance-'))
  const file = join(out, 'replay.otlp.json')
  const recording = join(folder as string, 'tau-bench/gpt-4o-airline.json')
  const { code, stderr } = await runCli(['replay', recording, '--content', '--out', file])
  expect(code, stderr).toBe(0)
  const spans = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) => ofOtlp(Buffer.from(line)))
  rmSync(out, { recursive: true, force: true })
  expect(spans.length).toBeGreaterThan(1_000)
  expect(violationsOf(spans, 'compat')).toEqual([])
})
