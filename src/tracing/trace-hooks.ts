import { createNoopMeter, metrics, type Span, trace } from '@opentelemetry/api'
import type { Plugin } from '../dispatcher/index.ts'
import { setCarrier } from '../internal/carrier.ts'
import { assertFields } from '../internal/expect.ts'
import { withEvents } from '../spans/event-activities.ts'
import { lightStarter } from './light/light-tracer.ts'
import { GenAiMetrics } from './metrics.ts'
import { resolveTraceOptions, TRACE_FIELDS, type TraceHooksOptions } from './options.ts'
import { currentPlace } from './span-context.ts'
import { SpanInstrument } from './span-instrument.ts'

/**
 * A plugin that turns what happens in operations into spans of any OpenTelemetry tracer.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * dispatcher.use(traceHooks({ tracer: provider.getTracer('my-app'), captureContent: true }))
 */
export function traceHooks(options: TraceHooksOptions = {}): Plugin {
  assertFields<TraceHooksOptions>(options, TRACE_FIELDS, 'tracing')
  return tracedBy(options)
}

/** The same, for who keeps open spans: told of those that another process ends. */
export function tracedBy(options: TraceHooksOptions, handOver?: (span: Span) => void): Plugin {
  const resolved = resolveTraceOptions(options)
  const tracer = options.tracer ?? trace.getTracer('hookspan')
  const meter = options.meter ?? metrics.getMeter('hookspan')
  // Without a meter provider there is nobody to record for.
  const records = meter !== false && meter !== createNoopMeter()
  const recorder = records ? new GenAiMetrics(meter, resolved.semconv) : undefined
  const instrument = new SpanInstrument(lightStarter(tracer), {
    options: resolved,
    metrics: recorder,
    ...(handOver && { handOver }),
  })
  setCarrier({ current: currentPlace })
  return { name: 'tracing', instrument: withEvents(instrument) }
}
