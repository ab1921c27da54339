import { describeValue, HookspanError } from '../../internal/errors.ts'
import { shownHeaderName } from '../../internal/http/header-name.ts'

const ALL = 'OTEL_EXPORTER_OTLP_HEADERS'
const TRACES = 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'

/** What HTTP takes as the name of a header (RFC 9110, 5.6.2), and as its value in Node. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * What is sent with each request: the option's, over those that the environment names for traces, over those that it
 * names for everything.
 *
 * @param onNote told of a header of the environment that cannot be sent, without its value.
 * @throws HookspanError `INVALID_OPTION` for one of the option's.
 */
export function headersOf(
  option: Record<string, string> | undefined,
  onNote: (message: string) => void,
): Record<string, string> {
  for (const [name, value] of Object.entries(option ?? {})) {
    const why = problemOf(name, value)
    if (why !== undefined)
      throw new HookspanError('INVALID_OPTION', `Cannot send a header of \`headers\`: ${why}.`)
  }
  return { ...listed(ALL, onNote), ...listed(TRACES, onNote), ...option }
}

/** `name=value` pairs in the W3C baggage format, as OpenTelemetry's exporters read them. */
function listed(variable: string, onNote: (message: string) => void): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of (process.env[variable] ?? '').split(',')) {
    const at = pair.indexOf('=')
    if (at <= 0) {
      if (pair.trim() !== '') onNote(`A header of ${variable} is left out: it is not written as name=value.`)
      continue
    }
    const name = decoded(pair.slice(0, at))
    const value = decoded(pair.slice(at + 1))
    const why = problemOf(name, value)
    if (why === undefined) headers[name] = value
    else onNote(`A header of ${variable} is left out: ${why}.`)
  }
  return headers
}

/** Node would refuse every request for it. Values may be secrets. */
function problemOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return `${shownHeaderName(name)} is no name of a header`
  return VALUE.test(value)
    ? undefined
    : `the value of ${describeValue(name)} has characters that no header may have`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}
