import { describeValue, errorSentence, HookspanError } from '../../internal/errors.ts'
import { expected } from '../../internal/expect.ts'
import { readRegularFile } from '../../internal/read-regular-file.ts'
import { headersOf } from './headers.ts'
import type { OtlpProtocol } from './otlp-encoder.ts'
import { tracesEndpoint } from './traces-url.ts'

/** Whom to trust, and who we are, as PEM. */
export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** Where and how spans are posted. Plain data, so that another thread can be given it. */
export interface OtlpTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: OtlpProtocol
  readonly gzip: boolean
  readonly tls: TlsFiles
  readonly timeoutMs: number
}

export interface OtlpTargetOptions {
  readonly endpoint?: string | undefined
  readonly headers?: Record<string, string> | undefined
  readonly protocol?: OtlpProtocol | undefined
  readonly timeoutMs?: number | undefined
}

const PROTOCOLS: readonly OtlpProtocol[] = ['http/json', 'http/protobuf']
const USUAL_PROTOCOL: OtlpProtocol = 'http/protobuf'
const DEFAULT_TIMEOUT_MS = 5_000

/**
 * From the options, else from the environment variables of OTLP exporters, of which those for traces come first.
 *
 * @param onNote told of a variable whose value is not held.
 * @throws HookspanError `INVALID_OPTION` for an option or a file name that is wrong.
 */
export function otlpTarget(options: OtlpTargetOptions, onNote: (message: string) => void): OtlpTarget {
  const { url, headers } = tracesEndpoint(options.endpoint)
  return {
    url,
    headers: { ...headers, ...headersOf(options.headers, onNote) },
    protocol: options.protocol === undefined ? protocolByEnv(onNote) : checkedProtocol(options.protocol),
    gzip: gzipByEnv(onNote),
    tls: tlsByEnv(),
    timeoutMs: options.timeoutMs ?? timeoutByEnv(onNote) ?? DEFAULT_TIMEOUT_MS,
  }
}

/** A variable for traces, else the one for all signals; an empty one is none. */
function variable(name: string): { readonly name: string; readonly value: string } | undefined {
  for (const full of [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`]) {
    const value = process.env[full]?.trim()
    if (value) return { name: full, value }
  }
  return undefined
}

function checkedProtocol(value: OtlpProtocol): OtlpProtocol {
  if (PROTOCOLS.includes(value)) return value
  throw expected('`protocol` to be "http/json" or "http/protobuf"', value)
}

function protocolByEnv(onNote: (message: string) => void): OtlpProtocol {
  const told = variable('PROTOCOL')
  if (told === undefined) return USUAL_PROTOCOL
  const known = PROTOCOLS.find((protocol) => protocol === told.value)
  if (known === undefined) {
    onNote(
      `${told.name} is ${describeValue(told.value)}; spans are sent as ${USUAL_PROTOCOL}: hookspan knows http/json and http/protobuf.`,
    )
  }
  return known ?? USUAL_PROTOCOL
}

function gzipByEnv(onNote: (message: string) => void): boolean {
  const told = variable('COMPRESSION')
  if (told !== undefined && told.value !== 'gzip' && told.value !== 'none') {
    onNote(
      `${told.name} is ${describeValue(told.value)}; spans are sent uncompressed: hookspan knows gzip and none.`,
    )
  }
  return told?.value === 'gzip'
}

function timeoutByEnv(onNote: (message: string) => void): number | undefined {
  const told = variable('TIMEOUT')
  if (told === undefined) return undefined
  const timeoutMs = Number(told.value)
  if (timeoutMs >= 1) return timeoutMs
  onNote(`${told.name} is ${describeValue(told.value)}, which is no number of milliseconds, and is not held.`)
  return undefined
}

/** @throws HookspanError `INVALID_OPTION` for a file name that is wrong. */
export function tlsByEnv(): TlsFiles {
  const ca = fileOf('CERTIFICATE')
  const cert = fileOf('CLIENT_CERTIFICATE')
  const key = fileOf('CLIENT_KEY')
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** A key, more likely: its text, on one line or more, or in base64. */
const NOT_A_FILE = /\n|-----BEGIN|^LS0tLS1CRUdJTi/

function fileOf(name: string): Buffer | undefined {
  const told = variable(name)
  if (told === undefined) return undefined
  try {
    return readRegularFile(told.value)
  } catch (error) {
    const { name, value } = told
    const message = NOT_A_FILE.test(value)
      ? `${name} names the file that has it. What it has now is no name of one, and is not shown.`
      : `Cannot read the file that ${name} names, ${describeValue(value)}: ${errorSentence(error)}`
    throw new HookspanError('INVALID_OPTION', message)
  }
}
