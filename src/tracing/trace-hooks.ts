import { createNoopMeter, metrics, trace } from '@opentelemetry/api'
import type { Plugin } from '../dispatcher/index.ts'
import { setCarrier } from '../internal/carrier.ts'
import { HookspanError } from '../internal/errors.ts'
import { assertFields } from '../internal/expect.ts'
import { packageVersion } from '../internal/package-version.ts'
import { withEvents } from '../spans/event-activities.ts'
import { SCHEMA_URLS } from '../spans/names.ts'
import { ContentEvents } from './content-events.ts'
import { lightStarter } from './light/light-tracer.ts'
import { GenAiMetrics } from './metrics.ts'
import { resolveTraceOptions, TRACE_FIELDS, type TraceHooksOptions } from './options.ts'
import type { StartedSdk } from './sdk/types.ts'
import { currentPlace } from './span-context.ts'
import { SpanInstrument } from './span-instrument.ts'
import type { HandOver } from './span-scope.ts'

/**
 * A plugin that turns what happens in operations into spans of any OpenTelemetry tracer.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * dispatcher.use(traceHooks({ tracer: provider.getTracer('my-app'), captureContent: true }))
 */
export function traceHooks(options: TraceHooksOptions = {}): Plugin {
  assertFields<TraceHooksOptions>(options, TRACE_FIELDS, 'tracing')
  if (options.contentOn !== undefined && options.contentOn !== 'spans' && options.logger === undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `Expected a \`logger\` beside \`contentOn: '${options.contentOn}'\`: logs.getLogger('hookspan') of @opentelemetry/api-logs.`,
    )
  }
  return tracedBy(options)
}

/**
 * The same, for who keeps open spans: told of those that another process ends.
 *
 * @param own where the API has none of them.
 */
export function tracedBy(
  options: TraceHooksOptions,
  handOver?: HandOver,
  own: Partial<Pick<StartedSdk, 'tracers' | 'meters'>> = {},
): Plugin {
  const resolved = resolveTraceOptions(options)
  const version = packageVersion()
  const schema = { schemaUrl: SCHEMA_URLS[resolved.semconv] }
  const tracer =
    options.tracer ?? (own.tracers ?? trace.getTracerProvider()).getTracer('hookspan', version, schema)
  const meter = options.meter ?? (own.meters ?? metrics).getMeter('hookspan', version, schema)
  // Without a meter provider there is nobody to record for.
  const records = meter !== false && meter !== createNoopMeter()
  const recorder = records ? new GenAiMetrics(meter, resolved.semconv) : undefined
  const instrument = new SpanInstrument(lightStarter(tracer), {
    options: resolved,
    metrics: recorder,
    contentEvents:
      resolved.events && options.logger !== undefined
        ? new ContentEvents(options.logger, resolved)
        : undefined,
    ...(handOver && { handOver }),
  })
  setCarrier({ current: currentPlace })
  return { name: 'tracing', instrument: withEvents(instrument) }
}
