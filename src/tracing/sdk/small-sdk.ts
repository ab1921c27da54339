import { context, propagation, trace } from '@opentelemetry/api'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import { LocalContexts } from './local-contexts.ts'
import { type ResourcesModule, wholeResource } from './resource.ts'
import type { SdkSettings } from './types.ts'

/** Spans alone, at a fraction of the packages. */
export const SMALL_SDK = '@opentelemetry/sdk-trace'

interface SdkTrace {
  TracerProvider?: new (
    options: Record<string, unknown>,
  ) => Parameters<typeof trace.setGlobalTracerProvider>[0] & {
    shutdown(): Promise<void>
  }
  AlwaysOnSampler: new () => unknown
  AlwaysOffSampler: new () => unknown
  TraceIdRatioBasedSampler: new (ratio: number) => unknown
  ParentBasedSampler: new (options: { root: unknown }) => unknown
}

interface CoreModule {
  CompositePropagator: new (options: {
    propagators: unknown[]
  }) => Parameters<typeof propagation.setGlobalPropagator>[0]
  W3CTraceContextPropagator: new () => unknown
  W3CBaggagePropagator: new () => unknown
}

interface Instrumentation {
  setTracerProvider?(provider: unknown): void
  enable?(): void
  disable?(): void
}

/** What the whole SDK would start, of spans. Limits of spans are not read from the environment. */
export function startSmallSdk(settings: SdkSettings): { shutdown(): Promise<void> } {
  const sdk = requirePeer<SdkTrace>(SMALL_SDK, 'startTracing()')
  const resources = requireVia<ResourcesModule>(SMALL_SDK, '@opentelemetry/resources')
  const core = requireVia<CoreModule>(SMALL_SDK, '@opentelemetry/core')
  if (sdk.TracerProvider === undefined) {
    throw new HookspanError(
      'MISSING_DEPENDENCY',
      `startTracing() needs ${SMALL_SDK} 3 where @opentelemetry/sdk-node is not installed. Run: npm install ${SMALL_SDK}@3`,
    )
  }
  const provider = new sdk.TracerProvider({
    resource: wholeResource(resources, settings.resourceAttributes),
    spanProcessors: settings.spanProcessors,
    idGenerator: settings.idGenerator,
    sampler: samplerByEnv(sdk),
  })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new LocalContexts())
  const propagators = [new core.W3CTraceContextPropagator(), new core.W3CBaggagePropagator()]
  propagation.setGlobalPropagator(new core.CompositePropagator({ propagators }))
  const instrumentations = settings.instrumentations.flat() as Instrumentation[]
  for (const one of instrumentations) {
    one.setTracerProvider?.(provider)
    one.enable?.()
  }
  return {
    shutdown() {
      for (const one of instrumentations) one.disable?.()
      return provider.shutdown()
    },
  }
}

function samplerByEnv(sdk: SdkTrace, env = process.env): unknown {
  const name = env.OTEL_TRACES_SAMPLER?.trim() || 'parentbased_always_on'
  const root = () => {
    switch (name.replace(/^parentbased_/, '')) {
      case 'always_on':
        return new sdk.AlwaysOnSampler()
      case 'always_off':
        return new sdk.AlwaysOffSampler()
      case 'traceidratio':
        return new sdk.TraceIdRatioBasedSampler(ratioByEnv(env))
      default:
        throw new HookspanError(
          'INVALID_OPTION',
          `Expected OTEL_TRACES_SAMPLER to be always_on, always_off, traceidratio, or one of them after parentbased_, got ${describeValue(name)}.`,
        )
    }
  }
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root: root() }) : root()
}

function ratioByEnv({ OTEL_TRACES_SAMPLER_ARG: given }: NodeJS.ProcessEnv): number {
  const ratio = Number(given?.trim() || 1)
  if (ratio >= 0 && ratio <= 1) return ratio
  const message = `Expected OTEL_TRACES_SAMPLER_ARG to be a ratio from 0 to 1, got ${describeValue(given)}.`
  throw new HookspanError('INVALID_OPTION', message)
}
