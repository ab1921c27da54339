import { describeValue, HookspanError } from '../../internal/errors.ts'

/**
 * The URL of the traces route, from the option or the environment.
 *
 * @throws HookspanError `INVALID_OPTION` for what is no http(s) URL.
 */
export function tracesUrlOf(endpoint: string | undefined): string {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces, OTEL_EXPORTER_OTLP_ENDPOINT: base } = process.env
  if (endpoint === undefined && traces) return checked(traces)
  const url = checked(endpoint ?? (base || 'http://localhost:4318'))
  return /\/v1\/traces\/?$/.test(url) ? url : `${url.replace(/\/+$/, '')}/v1/traces`
}

function checked(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return value
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected the OTLP endpoint to be an http(s) URL such as "http://localhost:4318", got ${describeValue(value)}.`,
  )
}
