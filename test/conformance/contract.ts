/** The scenarios of the adapters' contract, traced, and what of their spans and metrics is against the conventions. */
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import type { HookDispatcher } from 'hookspan'
import { adapterContract, type ContractSubject } from 'hookspan/adapter/contract'
import { type SemconvProfile, traceHooks } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'
import { type CheckedMetric, metricViolations, spanViolations } from './check.ts'
import { ofSdk } from './read.ts'
import { PROFILES } from './watch.ts'

/** A meter whose metrics can be read. */
export function metered() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  })
  return {
    meter: provider.getMeter('test'),
    async metrics(): Promise<CheckedMetric[]> {
      await provider.forceFlush()
      const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
      await provider.shutdown()
      return scopes
        .flatMap((scope) => scope.metrics)
        .map(({ descriptor: { name, unit, description }, dataPoints }) => {
          const value = dataPoints[0]?.value as { buckets?: { boundaries: number[] } } | number | undefined
          const buckets = typeof value === 'object' ? value.buckets : undefined
          const points = dataPoints.map(({ attributes }) => attributes)
          const type = buckets ? 'histogram' : 'counter'
          return { name, unit, description, type, bounds: buckets?.boundaries, points }
        })
    },
  }
}

export function conformsInContract(subjects: readonly ContractSubject[]): void {
  describe('in the spans and metrics of both profiles', () => {
    it.each(subjects)(
      'has no violation in the contract runs of $name',
      { timeout: 300_000 },
      async (subject) => {
        const { watched, seen } = watchedSubject(subject)
        for (const scenario of adapterContract(watched)) await scenario.run()
        expectConform(await seen())
      },
    )
  })
}

/** What was traced of each profile, counted, and what of that is against the conventions. */
interface Conformance {
  readonly semconv: SemconvProfile
  readonly spans: number
  readonly metrics: number
  readonly violations: readonly string[]
}

export function expectConform(seen: readonly Conformance[]): void {
  expect(seen.map(({ semconv }) => semconv)).toEqual(['latest', 'compat'])
  for (const { semconv, spans, metrics, violations } of seen) {
    expect(spans).toBeGreaterThan(10)
    expect(metrics).toBeGreaterThan(2)
    expect([semconv, violations]).toEqual([semconv, []])
  }
}

/** A subject whose runs are traced in both profiles at once: a run of some takes seconds. */
export function watchedSubject(subject: ContractSubject): {
  readonly watched: ContractSubject
  seen(): Promise<readonly Conformance[]>
} {
  const watches = PROFILES.map((semconv) => {
    const { meter, metrics } = metered()
    const setup = traced({ semconv, captureContent: true, meter })
    const plugin = () => traceHooks({ tracer: setup.tracer, meter, semconv, captureContent: true })
    return { semconv, metrics, setup, plugin }
  })
  const before = new WeakSet<HookDispatcher>()
  const run: typeof subject.run = (asked) => {
    if (!before.has(asked.dispatcher)) {
      before.add(asked.dispatcher)
      for (const { plugin } of watches) asked.dispatcher.use(plugin())
    }
    return subject.run(asked)
  }
  const seen = () =>
    Promise.all(
      watches.map(async ({ semconv, metrics, setup }) => {
        using _ended = setup
        const measured = await metrics()
        const spans = setup.spans().map(ofSdk)
        const violations = [
          ...spans.flatMap((span) => spanViolations(span, semconv)),
          ...measured.flatMap((metric) => metricViolations(metric, semconv)),
        ]
        return {
          semconv,
          spans: spans.length,
          metrics: measured.length,
          violations: [...new Set(violations)],
        }
      }),
    )
  return { watched: { ...subject, run }, seen }
}
