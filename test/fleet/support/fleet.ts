import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findJaeger } from '../../../scripts/jaeger.ts'
import { freePorts } from '../../support/free-port.ts'
import { type JaegerTrace, parseOtlpTrace } from '../../support/jaeger-trace.ts'
import { type Kafka, startCassandra, startKafka } from './engines.ts'
import { healthy, Server } from './server.ts'

const CONFIG = fileURLToPath(new URL('../../../deploy/fleet/config', import.meta.url))

/** How many partitions, and with it how many samplers and writers could share the work. */
export const PARTITIONS = 4

export interface FleetOptions {
  /** What deploy/fleet/config reads: DECISION_WAIT, LONG_RUN_NS, DROP_PERCENT, ... */
  readonly env: Readonly<Record<string, string>>
}

/** As in docker-compose.yml, which says why. */
const FLAGS: Partial<Record<Role, readonly string[]>> = {
  store: ['--feature-gates=-receiver.kafkareceiver.UseFranzGo'],
}

type Role = 'ingest' | 'sampler' | 'store' | 'query'

/** All of deploy/fleet on loopback: Kafka, Cassandra, and Jaeger in its four roles, by the files that are deployed. */
export class Fleet {
  readonly folder: string
  readonly otlpUrl: string
  readonly queryUrl: string
  readonly kafka: Kafka
  readonly servers: Readonly<Record<Role | 'kafka' | 'cassandra', Server>>

  private constructor(
    folder: string,
    otlpPort: number,
    queryPort: number,
    kafka: Kafka,
    servers: Fleet['servers'],
  ) {
    this.folder = folder
    this.otlpUrl = `http://127.0.0.1:${otlpPort}`
    this.queryUrl = `http://127.0.0.1:${queryPort}`
    this.kafka = kafka
    this.servers = servers
  }

  /** Free ports are found by asking for them and letting go, so that another process can win one of them: then once more. */
  static async start(options: FleetOptions, attempts = 3): Promise<Fleet> {
    try {
      return await Fleet.#startOnce(options)
    } catch (error) {
      if (attempts === 1) throw error
      console.warn(`Starts the fleet again: ${(error as Error).message.slice(0, 500)}`)
      return Fleet.start(options, attempts - 1)
    }
  }

  static async #startOnce({ env }: FleetOptions): Promise<Fleet> {
    const jaeger = await findJaeger()
    if (jaeger.kind !== 'binary') throw new Error('The fleet runs programs, no containers. Set JAEGER_BIN.')
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-fleet-'))
    const ports = await freePorts(17)
    const port = () => ports.pop() as number
    const started: Server[] = []
    try {
      const brokerPort = port()
      const kafka = await startKafka(join(folder, 'kafka'), brokerPort, port())
      started.push(kafka.server)
      await kafka.createTopics(PARTITIONS)
      const cassandraPort = port()
      const cassandra = await startCassandra(join(folder, 'cassandra'), cassandraPort, port(), port())
      started.push(cassandra)
      const [otlpPort, queryPort] = [port(), port()]
      const common = {
        LISTEN: '127.0.0.1',
        KAFKA_BROKERS: `[${kafka.broker}]`,
        CASSANDRA: '[127.0.0.1]',
        CASSANDRA_PORT: String(cassandraPort),
        OTLP_HTTP_PORT: String(otlpPort),
        OTLP_GRPC_PORT: String(port()),
        QUERY_PORT: String(queryPort),
        QUERY_GRPC_PORT: String(port()),
        ...env,
      }
      const role = async (name: Role): Promise<Server> => {
        const healthPort = port()
        const own = { HEALTH_PORT: String(healthPort), METRICS_PORT: String(port()) }
        const server = new Server({
          name,
          command: jaeger.path,
          args: ['--config', join(CONFIG, `${name}.yaml`), ...(FLAGS[name] ?? [])],
          env: { ...common, ...own },
          log: join(folder, `${name}.log`),
          ready: () => healthy(healthPort),
        })
        started.push(await server.start())
        return server
      }
      const store = await role('store')
      const [query, sampler, ingest] = [await role('query'), await role('sampler'), await role('ingest')]
      const servers = { kafka: kafka.server, cassandra, store, query, sampler, ingest }
      return new Fleet(folder, otlpPort, queryPort, kafka, servers)
    } catch (error) {
      await Promise.all(started.map((server) => server.kill()))
      throw error
    }
  }

  /** Traces that the sampler holds, as it says each second. */
  async undecided(): Promise<number> {
    const [held] = await this.#metric('sampler', 'processor_tail_sampling_sampling_traces_on_memory')
    return held ?? Number.NaN
  }

  /** Messages of Kafka that the store has taken since it was started. */
  async taken(): Promise<number> {
    const partitions = await this.#metric('store', 'kafka_receiver_messages_total')
    return partitions.reduce((sum, count) => sum + count, 0)
  }

  /** A value for each set of labels. */
  async #metric(role: Role, name: string): Promise<number[]> {
    const port = this.servers[role].plan.env?.METRICS_PORT
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    return [...metrics.matchAll(new RegExp(`^otelcol_${name}\\S* (\\S+)`, 'gm'))].map(([, value]) =>
      Number(value),
    )
  }

  /** What the store has of a trace. */
  async trace(traceId: string): Promise<JaegerTrace | undefined> {
    const response = await fetch(`${this.queryUrl}/api/v3/traces/${traceId}`)
    const body = await response.text()
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`Jaeger answered ${response.status}: ${body.slice(0, 500)}`)
    return parseOtlpTrace(body)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.servers).map((server) => server.kill()))
    if (process.env.FLEET_KEEP === undefined) rmSync(this.folder, { recursive: true, force: true })
    else console.log(`Left in ${this.folder}`)
  }
}
