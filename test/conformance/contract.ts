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
  describe.each(['latest', 'compat'] as const)('profile %s', (semconv) => {
    it.each(subjects)(
      'has no violation in the contract runs of $name',
      { timeout: 300_000 },
      async (subject) => {
        const { spans, metrics, violations } = await contractRun(subject, semconv)
        expect(spans).toBeGreaterThan(10)
        expect(metrics).toBeGreaterThan(2)
        expect(violations).toEqual([])
      },
    )
  })
}

async function contractRun(subject: ContractSubject, semconv: SemconvProfile) {
  const { meter, metrics } = metered()
  using setup = traced({ semconv, captureContent: true, meter })
  const watched = new WeakSet<HookDispatcher>()
  const run: typeof subject.run = (asked) => {
    if (!watched.has(asked.dispatcher)) {
      watched.add(asked.dispatcher)
      asked.dispatcher.use(traceHooks({ tracer: setup.tracer, meter, semconv, captureContent: true }))
    }
    return subject.run(asked)
  }
  for (const scenario of adapterContract({ ...subject, run })) await scenario.run()
  const seen = await metrics()
  const spans = setup.spans().map(ofSdk)
  const violations = [
    ...spans.flatMap((span) => spanViolations(span, semconv)),
    ...seen.flatMap((metric) => metricViolations(metric, semconv)),
  ]
  return { spans: spans.length, metrics: seen.length, violations: [...new Set(violations)] }
}
