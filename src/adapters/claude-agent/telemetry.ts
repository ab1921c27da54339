import type { ClaudeOptions } from './sdk.ts'

type Env = NonNullable<ClaudeOptions['env']>

/** Of its spans. Its metrics and logs are as the user wants them. */
const NESTED: Env = {
  CLAUDE_CODE_ENABLE_TELEMETRY: '1',
  CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: '1',
  OTEL_TRACES_EXPORTER: 'otlp',
}

const DEFAULTS: Env = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
  OTEL_METRICS_EXPORTER: 'none',
  OTEL_LOGS_EXPORTER: 'none',
}

/** Claude Code's environment, which is the process' own where the user gives none. */
export function telemetryOf(
  given: Env | undefined,
  sdkSpans: 'omit' | 'nest',
  traceparent: string | undefined,
): { readonly env?: Env } {
  const env = given ?? process.env
  if (sdkSpans === 'omit') {
    return env.CLAUDE_CODE_ENABLE_TELEMETRY ? { env: { ...env, OTEL_TRACES_EXPORTER: 'none' } } : {}
  }
  return { env: { ...DEFAULTS, ...env, ...NESTED, ...(traceparent && { TRACEPARENT: traceparent }) } }
}
