import { errorMessage } from '../../internal/errors.ts'
import { packageVersion } from '../../internal/package-version.ts'
import { shownUrl } from '../../internal/shown-url.ts'
import { isDisabledByEnv } from '../../tracing/export/environment.ts'
import { headersOf } from '../../tracing/export/headers.ts'
import { tracesUrlOf } from '../../tracing/export/traces-url.ts'
import { capturesContentByEnv } from '../../tracing/options.ts'
import { tellUnheld } from '../../tracing/sdk/environment.ts'
import type { Finding } from './finding.ts'

const GRPC_PORT = '4317'

export function checkEnvironment(): Finding[] {
  const { env, versions } = process
  const findings: Finding[] = [
    { check: 'runtime', state: 'ok', says: `hookspan ${packageVersion()} on Node ${versions.node}` },
  ]
  const content = capturesContentByEnv()
  findings.push({
    check: 'content',
    state: 'ok',
    says: content
      ? 'messages, arguments and results are captured (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)'
      : 'messages, arguments and results are not captured; `captureContent: true` captures them',
  })
  if (isDisabledByEnv()) {
    findings.push({
      check: 'sdk-disabled',
      state: 'wrong',
      says: `OTEL_SDK_DISABLED is "${env.OTEL_SDK_DISABLED}", so no span is made`,
      mend: 'Unset OTEL_SDK_DISABLED.',
    })
  }
  const sampler = env.OTEL_TRACES_SAMPLER
  if (sampler !== undefined && /off|ratio/.test(sampler)) {
    findings.push({
      check: 'sampler',
      state: /off/.test(sampler) ? 'wrong' : 'note',
      says: `OTEL_TRACES_SAMPLER is "${sampler}", so not every run becomes a trace`,
      mend: 'Unset OTEL_TRACES_SAMPLER to see all of them.',
    })
  }
  tellUnheld({ isSmall: false, capture: true }, (says) =>
    findings.push({ check: 'variable', state: 'wrong', says, mend: 'Mend it, or unset it.' }),
  )
  return findings
}

/** Where spans would go, or why that is no place. */
export function checkEndpoint(given: string | undefined): { findings: Finding[]; tracesUrl?: string } {
  const source = sourceOf(given)
  let tracesUrl: string
  try {
    tracesUrl = tracesUrlOf(given)
  } catch (error) {
    return {
      findings: [
        {
          check: 'endpoint',
          state: 'wrong',
          says: `${source}: ${errorMessage(error)}`,
          mend: `Give a URL with its scheme in ${source}, such as http://localhost:4318.`,
        },
      ],
    }
  }
  const findings: Finding[] = [
    { check: 'endpoint', state: 'ok', says: `${shownUrl(tracesUrl)} (from ${source})` },
  ]
  if (new URL(tracesUrl).port === GRPC_PORT) {
    findings.push({
      check: 'grpc-port',
      state: 'note',
      says: 'port 4317 is where collectors usually take OTLP over gRPC; hookspan sends OTLP over HTTP',
      mend: `Use port 4318: ${shownUrl(tracesUrl)
        .replace(`:${GRPC_PORT}`, ':4318')
        .replace(/\/v1\/traces$/, '')}`,
    })
  }
  if (source === TRACES_VARIABLE && !/\/v1\/traces\/?$/.test(new URL(tracesUrl).pathname)) {
    findings.push({
      check: 'traces-path',
      state: 'note',
      says: `${TRACES_VARIABLE} is used as it is, and does not end in /v1/traces`,
      mend: `Add /v1/traces to it, or set OTEL_EXPORTER_OTLP_ENDPOINT, to which it is added.`,
    })
  }
  const protocol =
    process.env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?.trim() || process.env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim()
  if (protocol && protocol !== 'http/json' && protocol !== 'http/protobuf') {
    findings.push({
      check: 'protocol',
      state: 'note',
      says: `the environment asks for OTLP over "${protocol}"; hookspan knows http/protobuf, which it sends, and http/json`,
      mend: 'Point it at the HTTP port of the collector, usually 4318.',
    })
  }
  const headers =
    process.env.OTEL_EXPORTER_OTLP_TRACES_HEADERS?.trim() || process.env.OTEL_EXPORTER_OTLP_HEADERS?.trim()
  if (headers) {
    const leftOut: Finding[] = []
    const names = Object.keys(
      headersOf(undefined, (message) =>
        leftOut.push({ check: 'headers', state: 'wrong', says: message, mend: HEADERS_MEND }),
      ),
    )
    findings.push({
      check: 'headers',
      state: 'ok',
      says: `headers from the environment: ${names.join(', ') || 'none that can be sent'}`,
    })
    findings.push(...leftOut)
  }
  return { findings, tracesUrl }
}

const HEADERS_MEND = 'Write name=value, percent-encoded, with commas between: authorization=Bearer%20…'
const TRACES_VARIABLE = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'

function sourceOf(given: string | undefined): string {
  if (given !== undefined) return '--endpoint'
  if (process.env[TRACES_VARIABLE]?.trim()) return TRACES_VARIABLE
  return process.env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'the default'
}
