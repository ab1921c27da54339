/** OpenSearch in the place of Cassandra, by the words of deploy/fleet/README.md: real runs through Jaeger's store and query into a real one. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { findJaeger } from '../../scripts/jaeger.ts'
import { freePorts } from '../support/free-port.ts'
import { parseOtlpTrace } from '../support/jaeger-trace.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { runAgent, verdictOn } from './support/agents.ts'
import { startOpenSearch } from './support/opensearch.ts'
import { healthy, Server } from './support/server.ts'

const deployed = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../deploy/fleet/${name}`, import.meta.url)), 'utf8')
const [, block = ''] =
  deployed('README.md')
    .split('## OpenSearch')[1]
    ?.match(/```yaml\n([^`]+)```/) ?? []

/** What is deployed, with the README's block in it. Kafka is left out: spans come to the store as they are. */
function configOf(role: 'store' | 'query', openSearch: number, otlp: number): string {
  const config = parse(deployed(`config/${role}.yaml`))
  config.extensions.jaeger_storage.backends = parse(
    block.replace('http://opensearch:9200', `http://127.0.0.1:${openSearch}`),
  )
  if (role === 'query') config.extensions.jaeger_query.storage = { traces: 'opensearch' }
  else {
    config.exporters.jaeger_storage_exporter.trace_storage = 'opensearch'
    config.receivers = { otlp: { protocols: { http: { endpoint: `127.0.0.1:${otlp}` } } } }
    config.service.pipelines.traces.receivers = ['otlp']
  }
  // As it stands in the README: what looks like a date is a text.
  return stringify(config, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' })
}

const recordings = recordingsFolder()

it.skipIf(!recordings)('keeps each span of each run as it was sent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-opensearch-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const jaeger = await findJaeger()
  if (jaeger.kind !== 'binary') throw new Error('The fleet runs programs, no containers. Set JAEGER_BIN.')
  const ports = await freePorts(10)
  const port = () => ports.pop() as number
  const [openSearchPort, otlpPort, queryPort] = [port(), port(), port()]
  const openSearch = await startOpenSearch(join(folder, 'opensearch'), openSearchPort, port())
  onTestFinished(() => openSearch.kill())
  for (const role of ['store', 'query'] as const) {
    const file = join(folder, `${role}.yaml`)
    writeFileSync(file, configOf(role, openSearchPort, otlpPort))
    const health = port()
    const env = {
      ...{ LISTEN: '127.0.0.1', HEALTH_PORT: String(health), METRICS_PORT: String(port()) },
      ...{ QUERY_PORT: String(queryPort), QUERY_GRPC_PORT: String(port()) },
    }
    const ready = () => healthy(health)
    const log = join(folder, `${role}.log`)
    const server = new Server({ name: role, command: jaeger.path, args: ['--config', file], env, log, ready })
    onTestFinished(() => server.kill())
    await server.start()
  }
  const fleet = {
    folder,
    otlpUrl: `http://127.0.0.1:${otlpPort}`,
    async trace(traceId: string) {
      const answer = await fetch(`http://127.0.0.1:${queryPort}/api/v3/traces/${traceId}`)
      return answer.ok ? parseOtlpTrace(await answer.text()) : undefined
    },
  }
  const { truth } = await runAgent(fleet, {
    name: 'support',
    recordings: join(recordings ?? '', 'tau-bench/gpt-4o-airline.json'),
    runs: 20,
    tracing: { captureContent: true },
  })
  expect(truth).toHaveLength(20)
  await expect
    .poll(() => Promise.all(truth.map((run) => verdictOn(fleet, run))), { interval: 500 })
    .toEqual(truth.map(() => 'whole'))
})
