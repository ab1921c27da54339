import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { jarsOf } from '../../../scripts/fleet.ts'
import { listens, Server } from './server.ts'

const run = promisify(execFile)
const java = process.env.JAVA ?? 'java'

/** Both are told what they need and no more; the rest is their defaults. */
export async function startKafka(folder: string, port: number, controllerPort: number): Promise<Kafka> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'server.properties')
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(folder, 'data'),
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'group.initial.rebalance.delay.ms': 0,
    'auto.create.topics.enable': false,
    'message.max.bytes': 10_485_760,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  writeFileSync(file, lines.join('\n'))
  const quiet = join(folder, 'log4j.properties')
  writeFileSync(
    quiet,
    'log4j.rootLogger=WARN,out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\nlog4j.appender.out.layout=org.apache.log4j.SimpleLayout\n',
  )
  const classes = ['-cp', join(jarsOf('kafka'), '*'), `-Dlog4j.configuration=file:${quiet}`]
  await run(java, [
    ...classes,
    'kafka.tools.StorageTool',
    'format',
    '-t',
    'AAAAAAAAAAAAAAAAAAAAAA',
    '-c',
    file,
  ])
  const server = new Server({
    name: 'Kafka',
    command: java,
    args: ['-Xms256m', '-Xmx512m', ...classes, 'kafka.Kafka', file],
    log: join(folder, 'kafka.log'),
    ready: () => listens(port),
  })
  await server.start()
  return new Kafka(server, `127.0.0.1:${port}`, classes, folder)
}

export class Kafka {
  readonly server: Server
  readonly broker: string
  readonly #classes: readonly string[]
  readonly #folder: string

  constructor(server: Server, broker: string, classes: readonly string[], folder: string) {
    this.server = server
    this.broker = broker
    this.#classes = classes
    this.#folder = folder
  }

  /** As deploy/fleet/topics.sh does it. */
  async createTopics(partitions: number): Promise<void> {
    for (const topic of ['spans', 'spans-kept']) {
      const what = ['--create', '--if-not-exists', '--topic', topic, '--partitions', String(partitions)]
      await this.#tool('TopicCommand', [...what, '--config', 'max.message.bytes=10485760'])
    }
  }

  /** What retention does in time: nothing that is in the topic now can be read any more. */
  async forget(topic: string, partitions: number): Promise<void> {
    const file = join(this.#folder, 'forget.json')
    const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: -1 }))
    writeFileSync(file, JSON.stringify({ partitions: all, version: 1 }))
    await this.#tool('DeleteRecordsCommand', ['--offset-json-file', file])
  }

  /** Again, where the broker listens and has no leader yet. */
  async #tool(name: string, args: readonly string[], attempts = 5): Promise<void> {
    const tool = [...this.#classes, `org.apache.kafka.tools.${name}`, '--bootstrap-server', this.broker]
    try {
      await run(java, [...tool, ...args])
    } catch (error) {
      if (attempts === 1) throw error
      await this.#tool(name, args, attempts - 1)
    }
  }
}

/** What Cassandra reaches into, which a JDK of 17 or later keeps closed. */
const OPENED = [
  ...[
    'java.io',
    'java.lang',
    'java.lang.module',
    'java.net',
    'java.nio',
    'java.util',
    'java.util.concurrent',
  ],
  ...['java.util.concurrent.atomic', 'jdk.internal.loader', 'jdk.internal.math', 'jdk.internal.misc'],
  ...[
    'jdk.internal.module',
    'jdk.internal.ref',
    'jdk.internal.reflect',
    'jdk.internal.util.jar',
    'sun.nio.ch',
  ],
].flatMap((name) => ['--add-opens', `java.base/${name}=ALL-UNNAMED`])

const EXPORTED = [
  'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  'java.rmi/sun.rmi.registry',
  'java.rmi/sun.rmi.server',
  'java.rmi/sun.rmi.transport.tcp',
  'java.base/jdk.internal.misc',
  'java.base/jdk.internal.ref',
  'java.base/sun.nio.ch',
].flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`])

/** What `docker-compose.yml` gives to its process. */
function composeOptions(): string[] {
  const file = new URL('../../../deploy/fleet/docker-compose.yml', import.meta.url)
  const { services } = parse(readFileSync(file, 'utf8'), { merge: true })
  return services.cassandra.environment.JVM_EXTRA_OPTS.split(' ')
}

export function startCassandra(folder: string, port: number, storagePort: number, jmxPort: number) {
  mkdirSync(folder, { recursive: true })
  const data = (name: string) => JSON.stringify(join(folder, 'data', name))
  const file = join(folder, 'cassandra.yaml')
  writeFileSync(
    file,
    `
cluster_name: fleet
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
# As the image has it. What compose says beside it makes a node answer after it is on disk.
commitlog_sync: periodic
commitlog_sync_period: 10000ms
commitlog_directory: ${data('commitlog')}
data_file_directories: [${data('data')}]
saved_caches_directory: ${data('caches')}
hints_directory: ${data('hints')}
cdc_raw_directory: ${data('cdc')}
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: ${port}
storage_port: ${storagePort}
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{ seeds: "127.0.0.1:${storagePort}" }]
`,
  )
  writeFileSync(
    join(folder, 'logback.xml'),
    '<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %p %m%n</pattern></encoder></appender><root level="WARN"><appender-ref ref="out"/></root></configuration>',
  )
  const settings = {
    'cassandra.config': `file://${file}`,
    'cassandra.storagedir': join(folder, 'data'),
    'cassandra.jmx.local.port': jmxPort,
    'cassandra.ring_delay_ms': 0,
    'cassandra.superuser_setup_delay_ms': 0,
    'cassandra.skip_wait_for_gossip_to_settle': 0,
    'jdk.attach.allowAttachSelf': true,
  }
  const defined = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`)
  const classes = `${folder}:${join(jarsOf('cassandra'), '*')}`
  // It measures what it caches. Without the agent it does so in a way that a JDK of 15 or later refuses for prepared statements.
  const agent = `-javaagent:${join(jarsOf('cassandra'), 'jamm-0.3.2.jar')}`
  const args = [
    '-Xms512m',
    '-Xmx512m',
    '-XX:+UseG1GC',
    agent,
    '-cp',
    classes,
    ...defined,
    ...composeOptions(),
    ...EXPORTED,
    ...OPENED,
  ]
  return new Server({
    name: 'Cassandra',
    command: java,
    args: [...args, 'org.apache.cassandra.service.CassandraDaemon'],
    log: join(folder, 'cassandra.log'),
    ready: () => listens(port),
  }).start()
}
