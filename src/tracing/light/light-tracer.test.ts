import {
  type AttributeValue,
  context,
  type Exception,
  type HrTime,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  type TimeInput,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type Span as SdkSpan,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type TracerProviderOptions,
} from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LightSpan } from './light-span.ts'
import { lightStarter, type SpanStarter } from './light-tracer.ts'

type Options = Pick<TracerProviderOptions, 'sampler' | 'spanLimits'>

/** Keeps what ends, and meddles as processors of applications do. */
class Meddler implements SpanProcessor {
  readonly ended: ReadableSpan[] = []
  readonly told: string[] = []
  readonly #meddles: boolean

  constructor(meddles: boolean) {
    this.#meddles = meddles
  }

  onStart(span: SdkSpan): void {
    this.told.push(`start ${span.name} ${span.ended} ${span.duration}`)
    if (this.#meddles) span.setAttribute('app.started', true).addEvent('seen').updateName(`${span.name}!`)
  }

  onEnding(span: SdkSpan): void {
    this.told.push(`ending ${span.name} ${span.ended}`)
    if (this.#meddles) span.setAttribute('app.ending', [1, 2]).setAttribute('app.started', 'over')
  }

  onEnd(span: ReadableSpan): void {
    this.told.push(`end ${span.name} ${span.ended} ${span.duration}`)
    if (this.#meddles) span.attributes['app.end'] = 'late'
    this.ended.push(span)
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

function provide(options: Options, meddles: boolean) {
  const processor = new Meddler(meddles)
  let next = 1
  const id = (length: number) => (next++).toString(16).padStart(length, '0')
  const provider = new TracerProvider({
    ...options,
    resource: RESOURCE,
    idGenerator: { generateTraceId: () => id(32), generateSpanId: () => id(16) },
    spanProcessors: [processor],
  })
  return { processor, tracer: provider.getTracer('app', '1.2', { schemaUrl: 'https://schema.invalid' }) }
}

const RESOURCE = defaultResource().merge(resourceFromAttributes({ 'service.name': 'app' }))

/** What one did, on a span of the SDK and on one of ours: equal in OTLP, and to its processors. */
function outcome(
  options: Options,
  meddles: boolean,
  starter: (tracer: Tracer) => SpanStarter,
  act: Act,
): unknown {
  const { processor, tracer } = provide(options, meddles)
  const span = act(starter(tracer))
  const { ended, told } = processor
  return {
    json: text(JsonTraceSerializer.serializeRequest(ended)),
    protobuf: Buffer.from(ProtobufTraceSerializer.serializeRequest(ended) ?? []).toString('hex'),
    told,
    context: span.spanContext(),
    recording: span.isRecording(),
    ended: ended.map(({ duration, ended, droppedAttributesCount }) => [
      duration,
      ended,
      droppedAttributesCount,
    ]),
  }
}

type Act = (starter: SpanStarter) => Span

function text(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes)
}

const ring: { self?: unknown } = {}
ring.self = ring
class Own {
  readonly field = 1
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', 'a\ud800b', '\u2028'),
)
const scalar = fc.oneof(anyText, fc.double(), fc.integer(), fc.boolean(), fc.maxSafeInteger())
const odd = fc.constantFrom<unknown>(
  null,
  undefined,
  10n,
  Symbol('s'),
  () => 1,
  new Date(0),
  new Own(),
  ring,
  [ring],
  Object.assign(Object.create(null), { bare: 1 }),
  new Uint8Array([1, 2, 250]),
  2 ** 53 + 2,
  -(2 ** 63),
  2 ** 64,
  -0,
  Number.NaN,
  Number.POSITIVE_INFINITY,
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    odd,
    fc.array(scalar, { maxLength: 3 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 3 }),
  ),
}))
// `__proto__` is no attribute in either; the SDK counts it all the same.
const key = fc
  .oneof(fc.constantFrom('a', 'b', 'c', 'd', '', 'app.started'), anyText)
  .filter((name) => name !== '__proto__')
const attributes = fc.oneof(
  fc.dictionary(key, scalar, { maxKeys: 6 }),
  fc.dictionary(key, value, { maxKeys: 6 }),
) as fc.Arbitrary<Record<string, AttributeValue>>
const hrTime = fc.tuple(fc.integer({ min: 0, max: 2e9 }), fc.integer({ min: 0, max: 999_999_999 }))
const time = fc.oneof(
  hrTime,
  fc.constant(undefined),
  fc.double({ min: 0, max: 10_000, noNaN: true }),
  fc.integer({ min: 1e12, max: 2e12 }),
  fc.date({ min: new Date(0), max: new Date(2e12), noInvalidDate: true }),
) as fc.Arbitrary<TimeInput | undefined>
const hex = (length: number) =>
  fc.oneof(
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length }),
    fc.constantFrom('0'.repeat(length), 'nonsense', ''),
  )
const spanContext = fc.record({
  traceId: hex(32),
  spanId: hex(16),
  traceFlags: fc.constantFrom(0, 1),
  isRemote: fc.constantFrom(true, false, undefined),
})
const link = fc.record({ context: spanContext, attributes: fc.option(attributes, { nil: undefined }) })
const exception = fc.constantFrom<Exception>(
  'text',
  new RangeError('out'),
  Object.assign(new Error(''), { stack: undefined }),
  Object.assign(new Error('coded'), { code: 'E_CODE' }),
  { code: 42 },
  {} as Exception,
)

type Step = (span: Span) => unknown
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(key, value).map(
    ([k, v]): Step =>
      (span) =>
        span.setAttribute(k, v as AttributeValue),
  ),
  attributes.map(
    (a): Step =>
      (span) =>
        span.setAttributes(a),
  ),
  fc.tuple(anyText, attributes, time).map(
    ([n, a, t]): Step =>
      (span) =>
        span.addEvent(n, a, t),
  ),
  fc.tuple(anyText, time).map(
    ([n, t]): Step =>
      (span) =>
        span.addEvent(n, t),
  ),
  link.map(
    (l): Step =>
      (span) =>
        span.addLink(l),
  ),
  fc.array(link, { maxLength: 3 }).map(
    (l): Step =>
      (span) =>
        span.addLinks(l),
  ),
  fc.tuple(fc.constantFrom(0, 1, 2), fc.oneof(anyText, fc.constantFrom(undefined, 7, null))).map(
    ([code, message]): Step =>
      (span) =>
        span.setStatus({ code, message: message as string }),
  ),
  anyText.map(
    (n): Step =>
      (span) =>
        span.updateName(n),
  ),
  fc.tuple(exception, time).map(
    ([e, t]): Step =>
      (span) =>
        span.recordException(e, t),
  ),
)

const limit = fc.constantFrom(128, 128, Number.POSITIVE_INFINITY, 0, 1, 2, 5)
const spanLimits = fc.option(
  fc.record({
    attributeCountLimit: limit,
    attributeValueLengthLimit: fc.constantFrom(Number.POSITIVE_INFINITY, 3, 1, 0, -1),
    eventCountLimit: limit,
    linkCountLimit: limit,
    attributePerEventCountLimit: limit,
    attributePerLinkCountLimit: limit,
  }),
  { nil: undefined },
)

const traceState = { get: () => 'v', set: () => traceState, unset: () => traceState, serialize: () => 'k=v' }
const deciding = (decision: SamplingDecision, more = {}): Sampler => ({
  shouldSample: () => ({ decision, ...more }),
})
const sampler = fc.constantFrom<Sampler | undefined>(
  undefined,
  undefined,
  new AlwaysOnSampler(),
  new AlwaysOffSampler(),
  new TraceIdRatioBasedSampler(0.5),
  new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.5) }),
  deciding(SamplingDecision.RECORD),
  deciding(SamplingDecision.RECORD_AND_SAMPLED, {
    attributes: { 'sampler.rule': 'x', a: 'sampled', list: ['long text'] },
    traceState,
  }),
)

const start = fc.record({
  name: anyText,
  kind: fc.option(fc.constantFrom(SpanKind.CLIENT, SpanKind.INTERNAL), { nil: undefined }),
  attributes: fc.option(attributes, { nil: undefined }),
  links: fc.option(fc.array(link, { maxLength: 2 }), { nil: undefined }),
  startTime: fc.oneof({ weight: 4, arbitrary: hrTime }, { weight: 1, arbitrary: time }),
  root: fc.option(fc.boolean(), { nil: undefined }),
  parent: fc.option(spanContext, { nil: undefined }),
  /** Below a span of the same tracer. */
  nested: fc.boolean(),
})

describe('lightStarter', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_700_000_000_123 })
    vi.advanceTimersByTime(5_000)
  })
  afterEach(() => {
    vi.useRealTimers()
    trace.disable()
  })

  it('makes spans that are, in OTLP and to processors, those of the SDK', () => {
    const property = fc.property(
      fc.record({ sampler, spanLimits }),
      fc.boolean(),
      start,
      fc.array(step, { maxLength: 8 }),
      time,
      fc.array(step, { maxLength: 2 }),
      (options, meddles, { name, parent, nested, ...given }, steps, endTime, late) => {
        const act: Act = (starter) => {
          const above = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
          const within = nested
            ? trace.setSpan(above, starter.startSpan('above', { startTime: [1, 2] }, above))
            : above
          const known = Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined))
          const span = starter.startSpan(name, structuredSpanOptions(known), within)
          for (const act of steps) act(span)
          span.end(endTime)
          for (const act of late) act(span)
          span.end()
          return span
        }
        expect(outcome(options as Options, meddles, lightStarter, act)).toEqual(
          outcome(options as Options, meddles, (tracer) => tracer, act),
        )
      },
    )
    fc.assert(property, { numRuns: 2_000 })
  })

  it('builds its own spans for a tracer of SDK 3, and leaves every other tracer to itself', () => {
    const { tracer } = provide({}, false)
    const options = { startTime: [1, 2] as HrTime }
    expect(lightStarter(tracer).startSpan('x', options)).toBeInstanceOf(LightSpan)

    const changed = Object.assign(Object.create(Object.getPrototypeOf(tracer)), tracer, { _newField: 1 })
    expect(lightStarter(changed)).toBe(changed)
    const version2 = provideWith('2.12.1')
    expect(lightStarter(version2)).toBe(version2)
    const other = { startSpan: () => trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 }) }
    expect(lightStarter(other as unknown as Tracer)).toBe(other)
  })

  it('finds the SDK that is started after its tracer was asked for', () => {
    trace.disable()
    const starter = lightStarter(trace.getTracer('early'))
    const options = { startTime: [1, 2] as HrTime }
    expect(starter.startSpan('x', options).isRecording()).toBe(false)

    const provider = new TracerProvider({ resource: defaultResource() })
    trace.setGlobalTracerProvider(provider)
    const span = starter.startSpan('y', options)
    expect(span).toBeInstanceOf(LightSpan)
    expect((span as LightSpan).instrumentationScope).toMatchObject({ name: 'early' })
  })

  it('starts nothing where tracing is suppressed', () => {
    const { tracer, processor } = provide({}, false)
    const suppressed = ROOT_CONTEXT.setValue(
      Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING'),
      true,
    )
    const span = lightStarter(tracer).startSpan('x', { startTime: [1, 2] }, suppressed)
    span.end()
    expect(processor.told).toEqual([])
    expect(context.active()).toBe(ROOT_CONTEXT)
  })

  function provideWith(version: string): Tracer {
    const resource = resourceFromAttributes({ 'telemetry.sdk.version': version })
    return new TracerProvider({ resource }).getTracer('app')
  }
})

/** Attributes that nobody else holds: they become the span's. */
function structuredSpanOptions(options: SpanOptions): SpanOptions {
  return options.attributes === undefined ? options : { ...options, attributes: { ...options.attributes } }
}
