import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { jarsOf } from '../../../scripts/fleet.ts'
import { Server } from './server.ts'

const VERSION = '2.19.1'

/** The module without which it speaks to nobody; its distribution describes it so. */
const HTTP = {
  'plugin-descriptor.properties': `name=transport-netty4
description=HTTP
version=${VERSION}
opensearch.version=${VERSION}
java.version=11
classname=org.opensearch.transport.Netty4Plugin
`,
  'plugin-security.policy': 'grant { permission java.security.AllPermission; };\n',
}

/** An OpenSearch of one node on loopback, laid out of the jars that Maven resolves as its distribution is. */
export function startOpenSearch(folder: string, port: number, transportPort: number): Promise<Server> {
  const module = join(folder, 'modules/transport-netty4')
  for (const name of ['config', 'plugins', 'data', 'logs']) mkdirSync(join(folder, name), { recursive: true })
  cpSync(jarsOf('opensearch'), join(folder, 'lib'), { recursive: true })
  cpSync(jarsOf('opensearch-http'), module, { recursive: true })
  for (const [name, text] of Object.entries(HTTP)) writeFileSync(join(module, name), text)
  const settings = {
    'cluster.name': 'fleet',
    'path.data': join(folder, 'data'),
    'path.logs': join(folder, 'logs'),
    'network.host': '127.0.0.1',
    'http.port': port,
    'transport.port': transportPort,
    'discovery.type': 'single-node',
    // Else a disk that is almost full for others makes its indexes read-only.
    'cluster.routing.allocation.disk.threshold_enabled': false,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`)
  writeFileSync(join(folder, 'config/opensearch.yml'), lines.join(''))
  writeFileSync(
    join(folder, 'config/log4j2.properties'),
    'appender.out.type=Console\nappender.out.name=out\nrootLogger.level=warn\nrootLogger.appenderRef.out.ref=out\n',
  )
  const java = [
    process.env.JAVA ?? 'java',
    ...['-Xms512m', '-Xmx512m', '-Djava.security.manager=allow'],
    ...[`-Dopensearch.path.home=${folder}`, `-Dopensearch.path.conf=${join(folder, 'config')}`],
    ...['-cp', join(folder, 'lib/*'), 'org.opensearch.bootstrap.OpenSearch'],
  ]
  const [command = '', ...args] = [...asNobody(folder), ...java]
  return new Server({
    name: 'OpenSearch',
    command,
    args,
    log: `${folder}.log`,
    ready: async () => (await fetch(`http://127.0.0.1:${port}/_cluster/health`)).ok,
  }).start()
}

/** It does not run as root. */
function asNobody(folder: string): string[] {
  if (process.getuid?.() !== 0) return []
  chmodSync(join(folder, '..'), 0o755)
  execFileSync('chown', ['-R', 'nobody', folder])
  return ['setpriv', '--reuid=nobody', '--clear-groups']
}
