import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../support/free-port.ts'
import { BackendServer, installed, sendRun } from './server.ts'

interface Found {
  readonly traceID: string
  readonly rootTraceName: string
  readonly spanSet: { readonly spans: readonly { readonly name?: string }[] }
}

interface TempoSpan {
  readonly name: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly status?: { readonly code?: string }
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

/** What is said on docs/backends/grafana-tempo.md. */
describe('a real Grafana Tempo', () => {
  const server = new BackendServer()
  const soon = { timeout: 90_000, interval: 500 }
  let url: string
  let otlp: string
  let traceId: string

  const ask = async (path: string, query: Record<string, string> = {}) => {
    const response = await fetch(`${url}${path}?${new URLSearchParams(query)}`, {
      headers: { accept: 'application/json' },
    })
    expect(response.status).toBe(200)
    return response.json()
  }

  const search = async (q: string) => {
    const { traces = [] } = (await ask('/api/search', { q })) as { traces?: Found[] }
    return traces
  }

  const spansOf = async (id: string) => {
    const { trace } = (await ask(`/api/v2/traces/${id}`)) as {
      trace?: { resourceSpans: { scopeSpans: { spans: TempoSpan[] }[] }[] }
    }
    return (trace?.resourceSpans ?? []).flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  }

  const textOf = async (id: string, span: string, key: string) => {
    const found = (await spansOf(id)).find(({ name }) => name === span)
    return String(found?.attributes?.find((one) => one.key === key)?.value.stringValue)
  }

  beforeAll(async () => {
    const [http = 0, grpc = 0, otlpPort = 0, gossip = 0] = await freePorts(4)
    url = `http://127.0.0.1:${http}`
    otlp = `http://127.0.0.1:${otlpPort}`
    const config = join(server.folder, 'tempo.json')
    writeFileSync(config, JSON.stringify(configuration(server.folder, { http, grpc, otlpPort, gossip })))
    const program = installed('tempo', 'tempo', 'TEMPO_BIN')
    await server.start(program, [`-config.file=${config}`], {}, `${url}/ready`)
    traceId = await sendRun({ endpoint: otlp })
    await vi.waitFor(async () => expect(await search('{ }')).toHaveLength(1), soon)
  })

  afterAll(() => server.stop())

  it('has the run as a tree, by its trace id', async () => {
    const spans = await spansOf(traceId)
    const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]))
    const parents = spans.map(({ name, parentSpanId }) => [name, nameOf.get(parentSpanId ?? '')])
    expect(Object.fromEntries(parents)).toEqual({
      'invoke_agent support': undefined,
      step: 'invoke_agent support',
      'chat gpt-4o': 'step',
      'execute_tool find': 'step',
      'execute_tool broken': 'step',
      'execute_tool drop_table': 'step',
    })
  })

  it.each([
    ['an agent by the name of its span', '{ span:name = "invoke_agent support" }', 1],
    ['the calls of a model', '{ span.gen_ai.request.model = "gpt-4o" }', 1],
    ['a step by an attribute of ours', '{ span.hookspan.step.index = 0 }', 1],
    ['what failed, was denied or rejected', '{ span:status = error }', 2],
    ['why it was denied', '{ span.error.type = "tool_not_allowed" }', 1],
    ['a conversation, on the run and on its calls of models', '{ span.gen_ai.conversation.id = "c-1" }', 2],
    ['what cost something', '{ span.gen_ai.usage.cost > 0.0 }', 1],
  ])('finds %s', async (_what, query, spans) => {
    const [found, ...more] = await search(query)
    expect(more).toEqual([])
    expect(found?.traceID.padStart(32, '0')).toBe(traceId)
    expect(found?.rootTraceName).toBe('invoke_agent support')
    expect(found?.spanSet.spans).toHaveLength(spans)
  })

  it('sums dollars over time, where the generator has local blocks', async () => {
    const dollars = async () => {
      const now = Math.floor(Date.now() / 1_000)
      const { series } = (await ask('/api/metrics/query_range', {
        q: '{ span.gen_ai.usage.cost != nil } | sum_over_time(span.gen_ai.usage.cost)',
        start: String(now - 600),
        end: String(now),
        step: '30s',
      })) as { series: { samples: { value?: number }[] }[] }
      return series.flatMap(({ samples }) => samples).reduce((sum, { value = 0 }) => sum + value, 0)
    }
    await expect.poll(dollars, soon).toBe(0.25)
  })

  it('cuts long content in the middle of its JSON, unless `maxContentBytes` cuts it before', async () => {
    const question = 'Where is it? '.repeat(500)
    const whole = await sendRun({ endpoint: otlp }, question)
    const fitted = await sendRun({ endpoint: otlp, maxContentBytes: 2_048 }, question)
    const messages = (id: string) => textOf(id, 'chat gpt-4o', 'gen_ai.input.messages')
    await expect.poll(() => messages(whole), soon).toHaveLength(2_048)
    const cut = await messages(whole)
    expect(() => JSON.parse(cut)).toThrow(SyntaxError)
    await expect.poll(() => messages(fitted), soon).toMatch(/^\[/)
    expect(JSON.parse(await messages(fitted))).toMatchObject([{ role: 'user' }])
  })

  it.each(['/v1/metrics', '/v1/logs'])('takes nothing at %s', async (path) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect((await fetch(`${otlp}${path}`, init)).status).toBe(404)
  })
})

interface Ports {
  readonly http: number
  readonly grpc: number
  readonly otlpPort: number
  readonly gossip: number
}

/** One process for all of Tempo, on loopback; YAML is a superset of JSON. What is sent can be searched after a second. */
function configuration(folder: string, { http, grpc, otlpPort, gossip }: Ports) {
  const host = '127.0.0.1'
  const ring = { kvstore: { store: 'inmemory' } }
  return {
    server: {
      http_listen_address: host,
      http_listen_port: http,
      grpc_listen_address: host,
      grpc_listen_port: grpc,
      log_level: 'warn',
    },
    distributor: { receivers: { otlp: { protocols: { http: { endpoint: `${host}:${otlpPort}` } } } } },
    memberlist: { bind_addr: [host], bind_port: gossip },
    ingester: {
      trace_idle_period: '1s',
      lifecycler: { address: host, min_ready_duration: '0s', ring: { ...ring, replication_factor: 1 } },
    },
    compactor: { ring },
    metrics_generator: {
      ring,
      processor: {
        local_blocks: { filter_server_spans: false, flush_check_period: '1s', trace_idle_period: '1s' },
      },
      storage: { path: join(folder, 'generator') },
      traces_storage: { path: join(folder, 'generator-traces') },
    },
    storage: {
      trace: {
        backend: 'local',
        wal: { path: join(folder, 'wal') },
        local: { path: join(folder, 'blocks') },
      },
    },
    overrides: { defaults: { metrics_generator: { processors: ['local-blocks'] } } },
    usage_report: { reporting_enabled: false },
  }
}
