/**
 * What is sent with each request: the option's, over those that the environment names for traces, over those that it
 * names for everything.
 */
export function headersOf(option: Record<string, string> | undefined): Record<string, string> {
  const { OTEL_EXPORTER_OTLP_HEADERS: all, OTEL_EXPORTER_OTLP_TRACES_HEADERS: traces } = process.env
  return { ...listed(all), ...listed(traces), ...option }
}

/** `name=value` pairs in the W3C baggage format, as OpenTelemetry's exporters read them. */
function listed(text = ''): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=')
    if (at > 0) headers[decoded(pair.slice(0, at))] = decoded(pair.slice(at + 1))
  }
  return headers
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}
