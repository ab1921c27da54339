import { shownUrl } from '../../internal/shown-url.ts'
import type { Answer } from '../../tracing/export/parcel.ts'
import { startSomething } from '../../tracing/links/trace-link.ts'
import { runner } from '../install-line.ts'

const GRPC_PORT = '4317'

interface Explained {
  says: string
  mend: string
}

/** What an answer other than "taken" means, and what to do. */
export function mendOf(answer: Answer, tracesUrl: string, timeoutMs: number): Explained {
  if (answer.state === 'accepted') return mendOfWarning(answer)
  const { message: says, status } = answer
  if (status !== undefined) return { says, mend: mendOfStatus(status, tracesUrl) }
  const code = answer.state === 'failed' ? (answer.code ?? '') : ''
  return { says, mend: mendOfFailure(says, code, tracesUrl, timeoutMs) }
}

function mendOfWarning({ rejected, message = '' }: Extract<Answer, { state: 'accepted' }>): Explained {
  if (rejected > 0) {
    return {
      says: `the collector took the request and rejected the span: ${message}`,
      mend: 'Read its reason: a processor or a limit of the collector drops spans.',
    }
  }
  return {
    says: `something answered 200, but not as OTLP does: ${message.slice(0, 200)}`,
    mend: 'Check the URL: a web page or a proxy seems to be there, and the collector elsewhere.',
  }
}

function mendOfStatus(status: number, tracesUrl: string): string {
  const { pathname } = new URL(tracesUrl)
  if (status === 401 || status === 403) {
    return 'Check the credentials: set OTEL_EXPORTER_OTLP_HEADERS, for example "authorization=Bearer <key>", or `headers` of startTracing().'
  }
  if (status === 404 || status === 405) {
    return `Check the path: there is no OTLP receiver at ${pathname}. Collectors have it at /v1/traces, some below a prefix of their own.`
  }
  if (status === 413) {
    return 'Raise the request limit of the collector or proxy (max_request_body_size), or lower `maxContentBytes` of startTracing().'
  }
  if (status === 415 || status === 400 || status === 422) {
    return 'The receiver did not understand OTLP/JSON: check that it takes OTLP over HTTP with JSON (else set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf), and that no proxy changes the body.'
  }
  if (status === 429) return 'The collector takes no more for now: raise its rate limit, or send less.'
  if (status >= 300 && status < 400)
    return 'It redirects, and exporters do not follow: give the URL that it redirects to.'
  if (status >= 500) {
    return 'The collector is up but cannot take spans: look into its log, and at the storage behind it. hookspan keeps spans and tries again.'
  }
  return 'Look into the log of the collector.'
}

function mendOfFailure(message: string, code: string, tracesUrl: string, timeoutMs: number): string {
  const { protocol, host, port, hostname } = new URL(tracesUrl)
  if (code.startsWith('HPE_') || (port === GRPC_PORT && code === 'ECONNRESET')) {
    return `What listens at ${host} does not speak HTTP/1.1; it may be the gRPC port. Use the OTLP/HTTP port, usually 4318.`
  }
  if (code === 'ECONNREFUSED') {
    return `Nothing listens at ${host}. ${startSomething(runner())}`
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `No such host: "${hostname}". Check its spelling, and that this machine can resolve it.`
  }
  if (code === 'EPROTO' || /wrong version number/.test(message)) {
    return `${host} does not speak TLS: use ${shownUrl(tracesUrl).replace(/^https:/, 'http:')}.`
  }
  if (/CERT|certificate|self-signed/i.test(`${code} ${message}`)) {
    return 'The certificate is not trusted here: set NODE_EXTRA_CA_CERTS to the CA’s file, or run Node with --use-system-ca.'
  }
  if (/no answer within/.test(message) || code === 'ETIMEDOUT') {
    return `No answer from ${host} within ${timeoutMs} ms: check that the collector is not stuck, and that no firewall swallows the request.`
  }
  if (code === 'ECONNRESET' || /socket hang up/.test(message)) {
    const other = protocol === 'http:' ? ' It may want TLS: try https.' : ''
    return `${host} closes the connection: is it an OTLP/HTTP receiver?${other}`
  }
  return `Check that ${shownUrl(tracesUrl)} is an OTLP/HTTP receiver.`
}
