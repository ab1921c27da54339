import type { Meter, Tracer } from '@opentelemetry/api'
import { a, type Fields, shape } from '../internal/expect.ts'
import type { Redact } from '../spans/content.ts'
import type { KeepLimits } from '../spans/keep.ts'
import type { SemconvProfile } from '../spans/names.ts'
import type { RenderOptions } from '../spans/start.ts'
import type { EventLogger } from './content-events.ts'

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
   * Where captured content goes: onto the spans, into the conventions' log event of each call of a model
   * (`gen_ai.client.inference.operation.details`), or both. Jaeger shows no logs. `traceHooks()` needs a `logger` for events.
   *
   * @default what OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says (`EVENT_ONLY`, `SPAN_AND_EVENT`), else `spans`
   */
  contentOn?: ContentOn
  /** Any logger of `@opentelemetry/api-logs`, for content as events. `startTracing()` brings its own. */
  logger?: EventLogger
  /**
   * Takes out what must not leave the process: of captured content, and of what is told in any case: messages of errors,
   * and the reasons of gates and humans.
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
  /**
   * Says `openinference.span.kind` of steps, waits and gates, and `llm.cost.total` of calls of models, for Phoenix: it knows
   * the other spans by the conventions. @default false
   */
  openInference?: boolean
  /**
   * US dollars. Spans of a run that has cost more say `hookspan.operation.keep`, as those of one with an error, a denial or a
   * human do in any case: for a collector that keeps a share of all runs, and all of such ones. @default never for its cost
   */
  keepOverUsd?: number
  /** Milliseconds, the same for a run that takes longer, waiting included. @default never for its duration */
  keepOverMs?: number
}

export type ContentOn = 'spans' | 'events' | 'both'

export const TRACE_FIELDS: Fields<TraceHooksOptions> = {
  tracer: a.with('startSpan'),
  meter: shape(
    'a meter or false',
    (value) =>
      value === false || typeof (value as Partial<Meter> | null | undefined)?.createHistogram === 'function',
  ),
  captureContent: a.boolean,
  contentOn: a.oneOf('spans', 'events', 'both'),
  logger: a.with('emit'),
  redact: a.function,
  maxContentBytes: a.number(256),
  stepSpans: a.boolean,
  semconv: a.oneOf('compat', 'latest'),
  usageOnAgentSpan: a.boolean,
  openInference: a.boolean,
  keepOverUsd: a.number(0),
  keepOverMs: a.number(0),
}

export interface ResolvedTraceOptions extends RenderOptions {
  readonly stepSpans: boolean
  /** Whether calls of models are told as events, too. */
  readonly events: boolean
  readonly keepOver: KeepLimits
}

/** Of one attribute; see `maxContentBytes`. */
export const DEFAULT_CONTENT_BYTES = 60_000

export function resolveTraceOptions(options: TraceHooksOptions): ResolvedTraceOptions {
  const { maxContentBytes = DEFAULT_CONTENT_BYTES, semconv = 'compat', redact, captureContent } = options
  const captured = captureContent ?? capturesContentByEnv()
  const on = contentOn(options)
  return {
    content: { capture: captured && on !== 'events', redact, maxBytes: maxContentBytes },
    events: captured && on !== 'spans',
    stepSpans: options.stepSpans ?? true,
    semconv,
    usageOnAgentSpan: options.usageOnAgentSpan ?? false,
    openInference: options.openInference ?? false,
    keepOver: { costUsd: options.keepOverUsd, durationMs: options.keepOverMs },
  }
}

/** Where content goes, by the option, else by the environment as the Python instrumentations read it. */
function contentOn({ contentOn: asked }: TraceHooksOptions, env = process.env): ContentOn {
  if (asked !== undefined) return asked
  const value = captureByEnv(env)
  if (value === 'event_only') return 'events'
  return value === 'span_and_event' ? 'both' : 'spans'
}

/** Reads the environment as JavaScript instrumentations (`true`) and the Python ones (`SPAN_ONLY`, ...) do. */
export function capturesContentByEnv(env: NodeJS.ProcessEnv = process.env): boolean {
  return ['true', 'span_only', 'span_and_event', 'event_only'].includes(captureByEnv(env))
}

function captureByEnv(env: NodeJS.ProcessEnv): string {
  return env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.trim().toLowerCase() ?? ''
}
