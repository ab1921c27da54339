import type { Answer } from './parcel.ts'

const TO_TRUST = 'name the file of its CA in OTEL_EXPORTER_OTLP_CERTIFICATE or NODE_EXTRA_CA_CERTS'

/** What an answer other than "taken" means, and what would help. */
export function explain(answer: Answer, { isKept = false } = {}): string {
  const { message = '' } = answer
  const status = 'status' in answer ? answer.status : undefined
  if (answer.state === 'refused') return explainRefusal(answer.status, message, isKept)
  if (status === 401 || status === 403)
    return `The collector refuses the credentials (${status}): check its headers.`
  if (status === 404 || status === 405)
    return `The collector has no OTLP endpoint there (${status}): check the URL.`
  if (status === 415) {
    return 'The collector does not take spans in this form (415): try the other `protocol`, "http/json" or "http/protobuf", or OTEL_EXPORTER_OTLP_PROTOCOL; or no OTEL_EXPORTER_OTLP_COMPRESSION.'
  }
  if (status !== undefined && status >= 300 && status < 400) {
    return `The collector redirects, which is not followed (${message}): give the URL that it redirects to.`
  }
  return `Spans cannot be delivered: ${message}${mendOf(answer)}.`
}

function explainRefusal(status: number, message: string, isKept: boolean): string {
  const went = isKept ? 'set aside in `spoolDir`' : 'dropped'
  if (status === 413)
    return `A span is too large for the collector (413) and was ${went}: lower \`maxContentBytes\`.`
  if (status === 0) return `A span cannot be written as OTLP and was ${went}: ${message}.`
  return `The collector refused a span (${status}) and it was ${went}: ${message}.`
}

function mendOf(answer: Answer): string {
  const code = answer.state === 'failed' ? (answer.code ?? '') : ''
  const mend = mendOfTls(code)
  if (mend !== '') return mend
  if (code.startsWith('HPE_')) return '; it may be the gRPC port: OTLP over HTTP is usually at 4318'
  return ''
}

/** What would help where TLS fails with this code: somebody listens there. Empty for all others. */
export function mendOfTls(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return '; the collector needs a new certificate'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return '; the endpoint must name a host of the certificate'
  if (/CERT|ISSUER|SIGNATURE/.test(code)) return `; to trust it, ${TO_TRUST}`
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return '; does it speak TLS? If not, use http://'
  return ''
}
