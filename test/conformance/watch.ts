/** Traces every dispatcher of a program in both profiles, whatever the program itself does with its spans. */
import type { Attributes, Histogram, Meter, MetricOptions } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { HookDispatcher } from 'hookspan'
import type { SemconvProfile, TraceHooksOptions } from 'hookspan/tracing'
import { type CheckedMetric, type CheckedSpan, metricViolations, spanViolations } from './check.ts'
import { ofSdk } from './read.ts'

export const PROFILES = ['latest', 'compat'] as const

/** What was seen, as JSON can hold it. */
export type Seen = Record<SemconvProfile, { spans: CheckedSpan[]; metrics: CheckedMetric[] }>

interface Recorded {
  readonly metric: Omit<CheckedMetric, 'points'>
  readonly points: Attributes[]
}

/** Keeps what is recorded, at once: a program may end in any way. */
class Recorder {
  readonly recorded: Recorded[] = []

  readonly meter = {
    createHistogram: (name: string, options?: MetricOptions) => this.#instrument(name, 'histogram', options),
    createCounter: (name: string, options?: MetricOptions) => this.#instrument(name, 'counter', options),
  } as unknown as Meter

  #instrument(name: string, type: string, { unit = '', description = '', advice }: MetricOptions = {}) {
    const points: Attributes[] = []
    const bounds = advice?.explicitBucketBoundaries
    this.recorded.push({ metric: { name, type, unit, description, bounds }, points })
    const take = (_: number, labels: Attributes = {}) => void points.push(labels)
    return { record: take, add: take } as unknown as Histogram
  }

  take(): CheckedMetric[] {
    return this.recorded
      .map(({ metric, points }) => ({ ...metric, points: points.splice(0) }))
      .filter(({ points }) => points.length > 0)
  }
}

interface Package {
  readonly HookDispatcher: typeof HookDispatcher
  readonly traceHooks: (options: TraceHooksOptions) => Parameters<HookDispatcher['use']>[0]
}

/** Watches all dispatchers of one copy of the package, from now on. */
export function watchDispatchers({ HookDispatcher, traceHooks }: Package): { take(): Seen } {
  const watches = PROFILES.map((semconv) => {
    const exporter = new InMemorySpanExporter()
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    const recorder = new Recorder()
    const options = { tracer: provider.getTracer('conformance'), meter: recorder.meter, captureContent: true }
    return { semconv, exporter, recorder, plugin: () => traceHooks({ ...options, semconv }) }
  })
  const watched = new WeakSet<HookDispatcher>()
  const { prototype } = HookDispatcher
  for (const name of ['startOperation', 'register', 'dispatch', 'dispatchBeforeToolCall'] as const) {
    const before = prototype[name] as (this: HookDispatcher, ...args: unknown[]) => unknown
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: HookDispatcher, ...args: unknown[]) {
        if (!watched.has(this)) {
          watched.add(this)
          for (const { plugin } of watches) this.use(plugin())
        }
        return before.apply(this, args)
      },
    })
  }
  /** What was seen since it was asked last. */
  const take = () =>
    Object.fromEntries(
      watches.map(({ semconv, exporter, recorder }) => {
        const spans = (exporter.getFinishedSpans() as ReadableSpan[]).map(ofSdk)
        exporter.reset()
        return [semconv, { spans, metrics: recorder.take() }]
      }),
    ) as Seen
  return { take }
}

/** What of it is against the conventions, each once. */
export function violationsOf(seen: Seen): string[] {
  return PROFILES.flatMap((profile) => {
    const { spans, metrics } = seen[profile]
    const found = [
      ...spans.flatMap((span) => spanViolations(span, profile)),
      ...metrics.flatMap((metric) => metricViolations(metric, profile)),
    ]
    return [...new Set(found)].map((what) => `${profile}: ${what}`)
  })
}
