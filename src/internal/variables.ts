import { nearestName } from './nearest-name.ts'

/** What hookspan reads of the environment for itself: docs/environment.md. */
export const OWN_VARIABLES = [
  'HOOKSPAN_APPROVALS_DB',
  'HOOKSPAN_APPROVALS_TOKEN',
  'HOOKSPAN_APPROVALS_URL',
  'HOOKSPAN_AUDIT_KEY',
  'HOOKSPAN_AUDIT_LOG',
  'HOOKSPAN_CHECKPOINTS_DB',
  'HOOKSPAN_CONFIG_HOME',
  'HOOKSPAN_HOME',
  'HOOKSPAN_JAEGER_PASSWORD',
  'HOOKSPAN_JAEGER_TOKEN',
  'HOOKSPAN_JAEGER_USER',
  'HOOKSPAN_MCP_TOKEN',
  'HOOKSPAN_REPLAY_MODE',
  'HOOKSPAN_TRACE_DIR',
] as const

const OF_EXPORTERS = [
  'CERTIFICATE',
  'CLIENT_CERTIFICATE',
  'CLIENT_KEY',
  'COMPRESSION',
  'ENDPOINT',
  'HEADERS',
  'PROTOCOL',
  'TIMEOUT',
]

/** What hookspan reads of OpenTelemetry's, and the SDK for it. */
export const OTEL_VARIABLES: readonly string[] = [
  'OTEL_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  'OTEL_BSP_MAX_QUEUE_SIZE',
  'OTEL_BSP_SCHEDULE_DELAY',
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
  'OTEL_LOG_LEVEL',
  'OTEL_PROPAGATORS',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_SDK_DISABLED',
  'OTEL_SERVICE_NAME',
  'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
  'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
  'OTEL_SPAN_EVENT_COUNT_LIMIT',
  'OTEL_SPAN_LINK_COUNT_LIMIT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  ...OF_EXPORTERS.flatMap((name) => [`OTEL_EXPORTER_OTLP_${name}`, `OTEL_EXPORTER_OTLP_TRACES_${name}`]),
]

/** Those of OpenTelemetry's that are for others, and nearly have the name of one of these. */
const OF_OTHERS = /^OTEL_BLRP_/

/** So many letters may be wrong: other programs have variables with names like these. */
const MOST_WRONG = 2

/** One sentence for each variable that is set, that nobody reads, and whose name is nearly that of one which is not set. */
export function misspelt(known: readonly string[], env: NodeJS.ProcessEnv = process.env): string[] {
  const unset = known.filter((name) => !env[name])
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || known.includes(name) || OF_OTHERS.test(name)) return []
    const meant = nearestName(name, unset, MOST_WRONG)
    return meant === undefined ? [] : [`${name} is read by nobody here. Is ${meant} meant?`]
  })
}
