/** The systems under test: how each is started, asked and weighed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findJaeger } from '../../scripts/jaeger.ts'
import { freePort, freePorts } from '../../test/support/free-port.ts'
import { RARE_WORD } from './stream.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface System {
  name: string
  tracesUrl: string
  /** Each returns how many things came, to check that the work was done. */
  list(limit: number): Promise<number>
  open(traceId: string): Promise<number>
  /** Until everything was searched. `answered` is called with each answer before, which says that it was not. */
  search(answered?: () => void): Promise<number>
  notes: string
  /** Spans are offered for so long at most. */
  sendSeconds: number
  /** Then it has so long to store what it took. */
  settleSeconds: number
  /** How often it is asked whether it has. */
  pollMs: number
  process: ChildProcess
  /** Of the files in which it keeps spans; `NaN` for what keeps them in memory. */
  diskBytes(): number
  stop(): Promise<void>
}

export async function startHookspan(memory: boolean): Promise<System> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'bench-hookspan-'))
  const store = memory ? ['--memory'] : ['--db', join(folder, 'traces.db')]
  const child = spawn(
    process.execPath,
    [
      join(root, 'dist/cli/bin.js'),
      'view',
      '--port',
      String(port),
      '--no-open',
      '--max-size',
      '20000',
      ...store,
    ],
    { stdio: 'ignore' },
  )
  const url = `http://127.0.0.1:${port}`
  await ready(`${url}/v1/hookspan`)
  return {
    name: `hookspan view (${memory ? 'memory' : 'file'})`,
    tracesUrl: `${url}/v1/traces`,
    list: async (limit) => (await json(`${url}/api/runs?limit=${limit}`)).runs.length,
    open: async (traceId) => (await json(`${url}/api/runs/${traceId}`)).columns.rows.length,
    async search(answered) {
      for (;;) {
        const reply = await json(`${url}/api/search?q=${RARE_WORD}&limit=1000`)
        answered?.()
        if (reply.indexing === 0) return reply.hits.length
        // As the page does.
        await sleep(100)
      }
    },
    notes:
      'full text over every span; the first search is answered with what was looked through so far, and asked again until that is all',
    sendSeconds: 150,
    settleSeconds: 30,
    pollMs: 250,
    process: child,
    diskBytes: () => (memory ? Number.NaN : bytesIn(folder)),
    stop: () => stop(child, folder),
  }
}

/** In memory, or in Badger's files, which is what it has for one machine. */
export async function startJaeger(storage: 'memory' | 'badger' = 'memory'): Promise<System | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-jaeger-'))
  const backend =
    storage === 'memory'
      ? { memory: { max_traces: 1_000_000 } }
      : {
          badger: {
            directories: { keys: join(folder, 'keys'), values: join(folder, 'values') },
            ephemeral: false,
          },
        }
  const found = await findJaeger().catch(() => undefined)
  if (found?.kind !== 'binary') return undefined
  const [http, grpc, ui, uiGrpc, health] = await freePorts(5)
  const config = {
    service: {
      extensions: ['jaeger_storage', 'jaeger_query', 'healthcheckv2'],
      pipelines: {
        traces: { receivers: ['otlp'], processors: ['batch'], exporters: ['jaeger_storage_exporter'] },
      },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'error' } },
    },
    extensions: {
      healthcheckv2: { use_v2: true, http: { endpoint: `127.0.0.1:${health}` } },
      jaeger_query: {
        storage: { traces: 'store' },
        http: { endpoint: `127.0.0.1:${ui}` },
        grpc: { endpoint: `127.0.0.1:${uiGrpc}` },
      },
      jaeger_storage: { backends: { store: backend } },
    },
    receivers: {
      otlp: {
        protocols: { http: { endpoint: `127.0.0.1:${http}` }, grpc: { endpoint: `127.0.0.1:${grpc}` } },
      },
    },
    processors: { batch: {} },
    exporters: { jaeger_storage_exporter: { trace_storage: 'store' } },
  }
  const child = spawn(found.path, ['--config', `yaml:${JSON.stringify(config)}`], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${ui}`
  await ready(`${url}/api/services`)
  const end = () => Date.now() * 1000 + 3_600_000_000
  const traces = async (limit: number, tags = '') =>
    (await json(`${url}/api/traces?service=bench-agent&limit=${limit}&start=0&end=${end()}${tags}`)).data as {
      spans: unknown[]
    }[]
  return {
    name: `Jaeger (${storage === 'memory' ? 'memory' : 'Badger files'})`,
    tracesUrl: `http://127.0.0.1:${http}/v1/traces`,
    // Its list is the whole traces, and its API gives at most 1,500 of them.
    list: async (limit) => (await traces(Math.min(limit, 1500))).length,
    open: async (traceId) => (await json(`${url}/api/traces/${traceId}`)).data[0].spans.length,
    search: async () =>
      (
        await traces(
          1500,
          `&tags=${encodeURIComponent(JSON.stringify({ 'gen_ai.tool.call.id': 'call-5002' }))}`,
        )
      ).length,
    notes: 'lists at most 1,500 traces; has no word search, so one exact tag value is looked for',
    sendSeconds: 150,
    settleSeconds: 30,
    pollMs: 250,
    process: child,
    diskBytes: () => (storage === 'memory' ? Number.NaN : bytesIn(folder)),
    stop: () => stop(child, folder),
  }
}

/** As `npm run backends:install` puts it, in a folder of its version. */
function phoenixBinary(): string {
  const folder = join(root, '.cache/phoenix')
  const versions = existsSync(folder) ? readdirSync(folder).sort() : []
  return join(folder, versions.at(-1) ?? 'none', 'bin', 'phoenix')
}

interface Page {
  edges: unknown[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

export async function startPhoenix(): Promise<System | undefined> {
  const binary = process.env.PHOENIX_BIN ?? phoenixBinary()
  if (!existsSync(binary)) return undefined
  const [port, grpc] = await freePorts(2)
  const folder = mkdtempSync(join(tmpdir(), 'bench-phoenix-'))
  const child = spawn(binary, ['serve'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpc),
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_WORKING_DIR: folder,
      PHOENIX_TELEMETRY_ENABLED: 'false',
    },
  })
  const url = `http://127.0.0.1:${port}`
  await ready(`${url}/healthz`, 120_000)
  const graphql = async (query: string, variables: object = {}) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: GraphQL answers, read field by field
    const reply = (await response.json()) as { data?: any; errors?: { message: string }[] }
    if (reply.errors) throw new Error(reply.errors[0]!.message)
    return reply.data
  }
  /** It gives at most a thousand at a time. */
  const pages = async (most: number, page: (first: number, after: string | null) => Promise<Page>) => {
    let count = 0
    for (let after: string | null = null; count < most; ) {
      const { edges, pageInfo } = await page(Math.min(1000, most - count), after)
      count += edges.length
      if (!pageInfo.hasNextPage) break
      after = pageInfo.endCursor
    }
    return count
  }
  const spans = async (most: number, filter: string) => {
    const projects = await graphql('{ projects(first: 1) { edges { node { id } } } }')
    const id = projects.projects.edges[0].node.id
    const query = `query ($id: ID!, $first: Int!, $after: String, $filter: String) { node(id: $id) { ... on Project { spans(first: $first, after: $after, filterCondition: $filter) { pageInfo { hasNextPage endCursor } edges { node { name statusCode startTime latencyMs tokenCountTotal input { value } } } } } } }`
    return pages(
      most,
      async (first, after) => (await graphql(query, { id, first, after, filter })).node.spans,
    )
  }
  return {
    name: 'Arize Phoenix (SQLite file)',
    tracesUrl: `${url}/v1/traces`,
    list: (limit) => spans(limit, 'parent_id is None'),
    open(traceId) {
      const query = `query ($trace: String!, $first: Int!, $after: String) { getTraceByOtelId(traceId: $trace) { spans(first: $first, after: $after) { pageInfo { hasNextPage endCursor } edges { node { name spanId parentId startTime latencyMs } } } } }`
      return pages(
        20_000,
        async (first, after) =>
          (await graphql(query, { trace: traceId, first, after })).getTraceByOtelId.spans,
      )
    },
    search: () => spans(1000, `'${RARE_WORD}' in input.value`),
    notes:
      'queues up to 20,000 spans in memory after answering, and refuses more until it has stored some; a minute of sending is what it takes; the word is searched in input.value',
    sendSeconds: 60,
    settleSeconds: 240,
    // Asking costs it more than storing.
    pollMs: 5_000,
    process: child,
    diskBytes: () => bytesIn(folder),
    stop: () => stop(child, folder),
  }
}

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  // What is reserved and not written does not count: Badger's value log is 2 GB long from the start.
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).blocks * 512, 0)
}

/** CPU seconds that the process and its threads took, and its resident bytes. Linux. */
export function weigh(child: ChildProcess): { cpuSeconds: number; rssBytes: number } {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const rssKb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0)
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, rssBytes: rssKb * 1024 }
}

// biome-ignore lint/suspicious/noExplicitAny: three systems' answers, read field by field
async function json(url: string): Promise<any> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status} ${(await response.text()).slice(0, 200)}`)
  return response.json()
}

async function ready(url: string, timeoutMs = 30_000): Promise<void> {
  const until = Date.now() + timeoutMs
  for (;;) {
    try {
      if ((await fetch(url)).ok) return
    } catch {
      // Not yet.
    }
    if (Date.now() > until) throw new Error(`${url} did not answer within ${timeoutMs} ms.`)
    await sleep(100)
  }
}

async function stop(child: ChildProcess, folder?: string): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once('exit', resolve))
  if (folder) rmSync(folder, { recursive: true, force: true })
}
