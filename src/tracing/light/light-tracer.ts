import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  type Link,
  ProxyTracer,
  type ProxyTracerProvider,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  TraceFlags,
  type Tracer,
  type TraceState,
  trace,
} from '@opentelemetry/api'
import type { ReadableSpan } from '../export/types.ts'
import type { IdGenerator } from '../trace-ids.ts'
import { cleanAttributes, countClean, isAnyValue } from './attribute-values.ts'
import { LightSpan, type ProcessorOfSdk, type SpanLimits, type SpanShared } from './light-span.ts'
import { isHrTime } from './span-times.ts'

/** All that a tracer is used for here. */
export type SpanStarter = Pick<Tracer, 'startSpan'>

const NOT_RECORD = 0
const RECORD_AND_SAMPLED = 2

interface Sampler {
  shouldSample(
    context: Context,
    traceId: string,
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    links: Link[],
  ): SamplingResult
}

interface SamplingResult {
  readonly decision: number
  readonly attributes?: Readonly<Attributes>
  readonly traceState?: TraceState
}

/** A tracer of OpenTelemetry's SDK 3. */
interface TracerOfSdk extends Tracer {
  readonly instrumentationScope: unknown
  readonly _sampler: Sampler
  readonly _spanLimits: SpanLimits
  readonly _idGenerator: IdGenerator
  readonly _resource: ReadableSpan['resource'] & {
    getRawAttributes(): readonly (readonly [string, unknown])[]
  }
  readonly _spanProcessor: ProcessorOfSdk
  /** Counts spans, for whoever reads the SDK's own metrics. */
  readonly _tracerMetrics: { startSpan(parent: SpanContext | undefined, decision: number): () => void }
}

const FIELDS = [
  '_idGenerator',
  '_resource',
  '_sampler',
  '_spanLimits',
  '_spanProcessor',
  '_tracerMetrics',
  'instrumentationScope',
]
const LIMITS = [
  'attributeCountLimit',
  'attributePerEventCountLimit',
  'attributePerLinkCountLimit',
  'attributeValueLengthLimit',
  'eventCountLimit',
  'linkCountLimit',
]

/**
 * Starts spans as this tracer would, but builds them itself where it is one of the SDK's that is known to the last
 * field: the same sampler, ids, limits, resource and processors, half the work. Any other tracer builds its own.
 *
 * Attributes that are handed to `startSpan` belong to the span from then on.
 */
export function lightStarter(tracer: Tracer): SpanStarter {
  const known = resolved(tracer)
  if (known instanceof ProxyTracer) return new LateStarter(known)
  return isTracerOfSdk(known) ? new LightTracer(known) : known
}

/** A tracer that was asked for before there was an SDK: looked at again with each span until there is one. */
class LateStarter implements SpanStarter {
  readonly #proxy: ProxyTracer
  #starter: SpanStarter | undefined

  constructor(proxy: ProxyTracer) {
    this.#proxy = proxy
  }

  startSpan(name: string, options?: SpanOptions, parentContext?: Context): Span {
    if (this.#starter === undefined) {
      const known = resolved(this.#proxy)
      if (known === this.#proxy) return this.#proxy.startSpan(name, options, parentContext)
      this.#starter = lightStarter(known)
    }
    return this.#starter.startSpan(name, options, parentContext)
  }
}

/** What is behind the API's stand-in, once there is something. */
function resolved(tracer: Tracer): Tracer {
  if (!(tracer instanceof ProxyTracer)) return tracer
  // Not told by its class: the API has one for `import` and one for `require`, by which SDKs are loaded.
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>
  return provider.getDelegateTracer?.(tracer.name, tracer.version, tracer.options) ?? tracer
}

function isTracerOfSdk(tracer: Tracer): tracer is TracerOfSdk {
  try {
    // A field more or less, and its spans may be made in another way, too.
    if (Object.keys(tracer).sort().join() !== FIELDS.join()) return false
    const { _sampler, _spanLimits, _idGenerator, _resource, _spanProcessor, _tracerMetrics } =
      tracer as TracerOfSdk
    const methods = [
      _sampler.shouldSample,
      _idGenerator.generateSpanId,
      _idGenerator.generateTraceId,
      _spanProcessor.onStart,
      _spanProcessor.onEnd,
      _tracerMetrics.startSpan,
    ]
    return (
      methods.every((method) => typeof method === 'function') &&
      Object.keys(_spanLimits).sort().join() === LIMITS.join() &&
      Object.values(_spanLimits).every((limit) => typeof limit === 'number') &&
      _resource
        .getRawAttributes()
        .some(([key, value]) => key === 'telemetry.sdk.version' && String(value).startsWith('3.'))
    )
  } catch {
    return false
  }
}

/** What the SDK asks its contexts before it starts a span. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

const NO_LIMITS = {
  attributeCountLimit: Number.POSITIVE_INFINITY,
  attributeValueLengthLimit: Number.POSITIVE_INFINITY,
}

const SAMPLED: SamplingResult = { decision: RECORD_AND_SAMPLED }

/** Whether what lies below a sampled span of this process is sampled, whatever it is: then there is nothing to ask. */
function samplesChildren(sampler: Sampler): boolean {
  // What samplers say of themselves is theirs to choose, so the class must be one of the SDK's, too.
  const described = String(sampler)
  switch (sampler.constructor.name) {
    case 'AlwaysOnSampler':
      return described === 'AlwaysOnSampler'
    case 'ParentBasedSampler':
      return described.startsWith('ParentBased{') && described.includes('localParentSampled=AlwaysOnSampler,')
    default:
      return false
  }
}

class LightTracer implements SpanStarter {
  readonly #sdk: TracerOfSdk
  readonly #shared: SpanShared
  readonly #samplesChildren: boolean

  constructor(sdk: TracerOfSdk) {
    this.#sdk = sdk
    this.#samplesChildren = samplesChildren(sdk._sampler)
    this.#shared = {
      processor: sdk._spanProcessor,
      limits: sdk._spanLimits,
      resource: sdk._resource,
      instrumentationScope: sdk.instrumentationScope,
    }
  }

  startSpan(name: string, options: SpanOptions = {}, within: Context = context.active()): Span {
    const { startTime, kind = SpanKind.INTERNAL } = options
    // Rarely asked for: the SDK knows how.
    const rare = options.links !== undefined || !isHrTime(startTime) || within.getValue(SUPPRESSED) === true
    if (rare) return this.#sdk.startSpan(name, options, within)

    const parentContext = options.root ? trace.deleteSpan(within) : within
    const parentSpan = trace.getSpan(parentContext)
    const above = parentSpan?.spanContext()
    const { _idGenerator: ids, _tracerMetrics: metrics } = this.#sdk
    const spanId = ids.generateSpanId()
    const isOurs = parentSpan instanceof LightSpan
    const parent = above !== undefined && (isOurs || trace.isSpanContextValid(above)) ? above : undefined
    const traceId = parent?.traceId ?? ids.generateTraceId()

    const given = options.attributes ?? {}
    const { limits } = this.#shared
    let attributeCount = countClean(given, limits)
    let { attributes, droppedAttributesCount } =
      attributeCount < 0
        ? cleanAttributes(given, NO_LIMITS, isAnyValue)
        : { attributes: given, droppedAttributesCount: 0 }
    const sampled =
      isOurs && this.#samplesChildren && above?.traceFlags === TraceFlags.SAMPLED
        ? SAMPLED
        : this.#sdk._sampler.shouldSample(parentContext, traceId, name, kind, attributes, [])
    const onEnded = metrics.startSpan(above, sampled.decision)
    const spanContext: SpanContext = {
      traceId,
      spanId,
      traceFlags: sampled.decision === RECORD_AND_SAMPLED ? TraceFlags.SAMPLED : TraceFlags.NONE,
      traceState: sampled.traceState ?? parent?.traceState,
    }
    if (sampled.decision === NOT_RECORD) return trace.wrapSpanContext(spanContext)
    if (attributeCount < 0 || sampled.attributes !== undefined) {
      const kept = cleanAttributes(Object.assign(attributes, sampled.attributes), limits, isAnyValue)
      attributes = kept.attributes
      attributeCount = Object.keys(attributes).length
      droppedAttributesCount += kept.droppedAttributesCount
    }
    const start = {
      name,
      kind,
      spanContext,
      parentSpanContext: parent,
      startTime,
      attributes,
      attributeCount,
      droppedAttributesCount,
      onEnded,
    }
    return new LightSpan(this.#shared, start, parentContext)
  }
}
