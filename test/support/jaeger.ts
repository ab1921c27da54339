/** A real Jaeger for one test file: started on free loopback ports, in memory, killed in every case. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findJaeger, type JaegerSource } from '../../scripts/jaeger.ts'
import { freePorts } from './free-port.ts'
import { type JaegerTrace, type LegacyTrace, parseOtlpTrace } from './jaeger-trace.ts'

export type { JaegerSpan, JaegerTrace, LegacyTrace } from './jaeger-trace.ts'

export interface WaitForTrace {
  /** Spans the complete trace has; more is a failure at once. Without it the first answer with spans will do. */
  spanCount?: number
  /** How long to wait for them, in milliseconds. @default 15_000 */
  timeoutMs?: number
}

export interface FindTraces {
  service: string
  operation?: string
  /** Attributes that one span of the trace must have, compared as text. */
  tags?: Record<string, string>
  /** @default 100 */
  limit?: number
}

export interface Jaeger extends AsyncDisposable {
  /** Base of OTLP over HTTP: what `OTEL_EXPORTER_OTLP_ENDPOINT` takes. Traces go to `/v1/traces` below it. */
  otlpUrl: string
  /** OTLP over gRPC. */
  otlpGrpcUrl: string
  queryUrl: string
  /** Same port as `queryUrl`. A Jaeger built by `jaeger:install` has no web page there, only the API. */
  uiUrl: string
  /** The trace as OTLP, with exact types and nanoseconds (`/api/v3/traces/{id}`). */
  getTrace(traceId: string, wait?: WaitForTrace): Promise<JaegerTrace>
  /** The trace as Jaeger's web page reads it (`/api/traces/{id}`). */
  getLegacyTrace(traceId: string, wait?: WaitForTrace): Promise<LegacyTrace>
  /** Traces that match now; does not wait. Newest first. */
  findTraces(query: FindTraces): Promise<LegacyTrace[]>
  /** Everything Jaeger wrote to its log so far. */
  log(): string
  stop(): Promise<void>
}

export interface StartJaeger {
  /** How long Jaeger may take until it is healthy, in milliseconds. @default 30_000 */
  readyTimeoutMs?: number
  /** `queryUrl` has it, too. Only where Jaeger is a program, not a container. @default '' */
  basePath?: string
  /** `badger` keeps spans in the shape of Jaeger 1, as Cassandra and others do. A program likewise. @default 'memory' */
  storage?: 'memory' | 'badger'
}

/**
 * @throws Error when no Jaeger is installed, or when it does not come up; the message carries its log.
 */
export async function startJaeger(options: StartJaeger = {}): Promise<Jaeger> {
  const source = await findJaeger()
  // Free ports are found by asking for them and letting go, so another process can win one of them.
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(source, options)
    } catch (error) {
      if (attempt === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

async function startOnce(source: JaegerSource, options: StartJaeger): Promise<Jaeger> {
  const { readyTimeoutMs = 30_000, basePath = '' } = options
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-jaeger-'))
  const ports = await portsOf()
  const guard = launch(source, ports, folder, options)
  let log = ''
  for (const stream of [guard.stdout, guard.stderr]) stream?.on('data', (chunk) => (log += chunk))
  const stop = async () => {
    if (guard.exitCode === null && guard.signalCode === null) {
      const exit = once(guard, 'exit')
      guard.stdin?.end()
      await exit
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await untilHealthy(guard, ports.health, readyTimeoutMs)
  } catch (error) {
    await stop()
    throw new Error(`Jaeger did not start: ${(error as Error).message}. Its log:\n${log}`)
  }
  const queryUrl = `http://127.0.0.1:${ports.query}${basePath}`
  return {
    otlpUrl: `http://127.0.0.1:${ports.otlpHttp}`,
    otlpGrpcUrl: `http://127.0.0.1:${ports.otlpGrpc}`,
    queryUrl,
    uiUrl: queryUrl,
    getTrace: (traceId, wait) =>
      complete(traceId, wait, () => read(`${queryUrl}/api/v3/traces/${traceId}`, parseOtlpTrace)),
    getLegacyTrace: (traceId, wait) =>
      complete(traceId, wait, () =>
        read(`${queryUrl}/api/traces/${traceId}`, (body) => legacyTraces(body)[0]),
      ),
    findTraces: async ({ service, operation, tags, limit = 100 }) => {
      const query = new URLSearchParams({ service, limit: String(limit) })
      if (operation) query.set('operation', operation)
      if (tags) query.set('tags', JSON.stringify(tags))
      return (await read(`${queryUrl}/api/traces?${query}`, legacyTraces)) ?? []
    },
    log: () => log,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

type Ports = Record<'otlpHttp' | 'otlpGrpc' | 'query' | 'queryGrpc' | 'health', number>

async function portsOf(): Promise<Ports> {
  const [otlpHttp, otlpGrpc, query, queryGrpc, health] = await freePorts(5)
  return { otlpHttp, otlpGrpc, query, queryGrpc, health } as Ports
}

function launch(source: JaegerSource, ports: Ports, folder: string, options: StartJaeger): ChildProcess {
  const guarded = (cleanup: string[] | null, command: string, args: string[]) =>
    spawn(
      process.execPath,
      [
        fileURLToPath(new URL('guard.cjs', import.meta.url)),
        cleanup ? JSON.stringify(cleanup) : '',
        command,
        ...args,
      ],
      { stdio: ['pipe', 'pipe', 'pipe'] },
    )
  if (source.kind === 'binary') {
    const config = join(folder, 'jaeger.yaml')
    writeFileSync(config, configYaml(ports, folder, options))
    return guarded(null, source.path, ['--config', config])
  }
  const name = `hookspan-jaeger-${process.pid}-${ports.query}`
  const publish = (port: number, inside: number) => ['--publish', `127.0.0.1:${port}:${inside}`]
  // Killing the docker client leaves the container running, so the guard removes it by name.
  return guarded(['docker', 'rm', '--force', name], 'docker', [
    ...['run', '--rm', '--name', name],
    ...publish(ports.otlpHttp, 4318),
    ...publish(ports.otlpGrpc, 4317),
    ...publish(ports.query, 16686),
    ...publish(ports.health, 13133),
    source.image,
  ])
}

const storages = (folder: string) => ({
  memory: '{ memory: { max_traces: 100000 } }',
  badger: `{ badger: { directories: { keys: '${folder}/keys', values: '${folder}/values' }, ephemeral: false } }`,
})

const configYaml = (ports: Ports, folder: string, { storage = 'memory', basePath = '' }: StartJaeger) => `
service:
  extensions: [jaeger_storage, jaeger_query, healthcheckv2]
  pipelines:
    traces: { receivers: [otlp], exporters: [jaeger_storage_exporter] }
  telemetry:
    metrics: { level: none }
    logs: { level: warn }
extensions:
  healthcheckv2: { use_v2: true, http: { endpoint: '127.0.0.1:${ports.health}' } }
  jaeger_storage: { backends: { here: ${storages(folder)[storage]} } }
  jaeger_query:
    storage: { traces: here }
    base_path: '${basePath || '/'}'
    enable_tracing: false
    http: { endpoint: '127.0.0.1:${ports.query}' }
    grpc: { endpoint: '127.0.0.1:${ports.queryGrpc}' }
receivers:
  otlp:
    protocols:
      http: { endpoint: '127.0.0.1:${ports.otlpHttp}' }
      grpc: { endpoint: '127.0.0.1:${ports.otlpGrpc}' }
exporters:
  jaeger_storage_exporter: { trace_storage: here }
`

async function untilHealthy(guard: ChildProcess, port: number, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    if (guard.exitCode !== null) throw new Error(`it exited with ${guard.exitCode}`)
    const healthy = await fetch(`http://127.0.0.1:${port}/status`).then(
      (response) => response.ok,
      () => false,
    )
    if (healthy) return
    if (Date.now() > deadline) throw new Error(`it was not healthy after ${timeoutMs} ms`)
    await sleep(50)
  }
}

/** What a 404 means here is "not yet"; anything else unexpected is a failure. */
async function read<T>(url: string, parse: (body: string) => T): Promise<T | undefined> {
  const response = await fetch(url)
  const body = await response.text()
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(`Jaeger answered ${response.status} to ${url}: ${body.slice(0, 500)}`)
  return parse(body)
}

function legacyTraces(body: string): LegacyTrace[] {
  return (JSON.parse(body) as { data: LegacyTrace[] | null }).data ?? []
}

async function complete<T extends { spans: unknown[] }>(
  traceId: string,
  { spanCount, timeoutMs = 15_000 }: WaitForTrace = {},
  readTrace: () => Promise<T | undefined>,
): Promise<T> {
  const expected = `Expected trace ${traceId} to hold ${spanCount ?? 'some'} spans`
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const trace = await readTrace()
    const count = trace?.spans.length ?? 0
    if (trace && count === (spanCount ?? count)) return trace
    if (spanCount !== undefined && count > spanCount) throw new Error(`${expected}, found ${count}.`)
    if (Date.now() > deadline) throw new Error(`${expected}, found ${count} after ${timeoutMs} ms.`)
    await sleep(25)
  }
}
