import type { Meter, Tracer } from '@opentelemetry/api'
import { a, type Fields, shape } from '../internal/expect.ts'
import type { Redact } from '../spans/content.ts'
import type { SemconvProfile } from '../spans/names.ts'
import type { RenderOptions } from '../spans/start.ts'

/** How events become spans. */
export interface TraceHooksOptions {
  /** Any OpenTelemetry tracer. @default the global provider's tracer `hookspan` */
  tracer?: Tracer
  /** Token usage and durations. @default the global provider's meter `hookspan`; false records none */
  meter?: Meter | false
  /**
   * Captures messages, arguments, results and summaries.
   *
   * @default what OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says, else false
   */
  captureContent?: boolean
  /**
   * Takes out what must not leave the process: of captured content, and of error messages, which are told in any case.
   * One that throws lets nothing through.
   */
  redact?: Redact
  /**
   * Bytes (UTF-8) of content per attribute; more is cut so that the JSON stays valid, and the span says how much.
   * The default stays below what Jaeger's Badger store takes. Minimum 256.
   *
   * @default 60_000
   */
  maxContentBytes?: number
  /** False puts the calls of a step directly under the run. @default true */
  stepSpans?: boolean
  /** `compat` adds the older names that Jaeger reads; `latest` is the newest text alone. @default 'compat' */
  semconv?: SemconvProfile
  /** Repeats the summed tokens as `gen_ai.usage.*` on `invoke_agent`. Backends may count them twice. @default false */
  usageOnAgentSpan?: boolean
}

export const TRACE_FIELDS: Fields<TraceHooksOptions> = {
  tracer: a.object,
  meter: shape(
    'a meter or false',
    (value) => value === false || (typeof value === 'object' && value !== null),
  ),
  captureContent: a.boolean,
  redact: a.function,
  maxContentBytes: a.number(256),
  stepSpans: a.boolean,
  semconv: a.oneOf('compat', 'latest'),
  usageOnAgentSpan: a.boolean,
}

export interface ResolvedTraceOptions extends RenderOptions {
  readonly stepSpans: boolean
}

export function resolveTraceOptions(options: TraceHooksOptions): ResolvedTraceOptions {
  const { maxContentBytes = 60_000, semconv = 'compat', redact, captureContent } = options
  return {
    content: { capture: captureContent ?? capturesContentByEnv(), redact, maxBytes: maxContentBytes },
    stepSpans: options.stepSpans ?? true,
    semconv,
    usageOnAgentSpan: options.usageOnAgentSpan ?? false,
  }
}

/** Reads the environment as JavaScript instrumentations (`true`) and the Python ones (`SPAN_ONLY`, ...) do. */
export function capturesContentByEnv(env: NodeJS.ProcessEnv = process.env): boolean {
  const value = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.trim().toLowerCase()
  return value === 'true' || value === 'span_only' || value === 'span_and_event'
}
