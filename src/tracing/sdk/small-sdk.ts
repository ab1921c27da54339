import { context, propagation, trace } from '@opentelemetry/api'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { requirePeer, requireVia } from '../../internal/require-peer.ts'
import { propagatorsByEnv, ratioByEnv, samplerNameByEnv, spanLimitsByEnv } from './environment.ts'
import { LocalContexts } from './local-contexts.ts'
import { type ResourcesModule, wholeResource } from './resource.ts'
import type { SdkSettings, StartedSdk } from './types.ts'

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

/** What the whole SDK would start, of spans. */
export function startSmallSdk(settings: SdkSettings): StartedSdk {
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
    ...defined({ spanLimits: spanLimitsByEnv() }),
  })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new LocalContexts())
  propagation.setGlobalPropagator(propagatorByEnv(core))
  const instrumentations = settings.instrumentations.flat() as Instrumentation[]
  for (const one of instrumentations) {
    one.setTracerProvider?.(provider)
    one.enable?.()
  }
  return {
    tracers: provider,
    shutdown() {
      for (const one of instrumentations) one.disable?.()
      return provider.shutdown()
    },
  }
}

function samplerByEnv(sdk: SdkTrace): unknown {
  const name = samplerNameByEnv()
  const root = () => {
    switch (name.replace(/^parentbased_/, '')) {
      case 'always_off':
        return new sdk.AlwaysOffSampler()
      case 'traceidratio':
        return new sdk.TraceIdRatioBasedSampler(ratioByEnv())
      default:
        return new sdk.AlwaysOnSampler()
    }
  }
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root: root() }) : root()
}

function propagatorByEnv(core: CoreModule) {
  const known: Readonly<Record<string, () => unknown>> = {
    tracecontext: () => new core.W3CTraceContextPropagator(),
    baggage: () => new core.W3CBaggagePropagator(),
  }
  return new core.CompositePropagator({
    propagators: propagatorsByEnv().flatMap((name) => known[name]?.() ?? []),
  })
}
