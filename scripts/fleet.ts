/**
 * Installs what `npm run test:fleet` runs: Jaeger, built out of Go modules, and Cassandra, Kafka and OpenSearch, which Maven resolves
 * (your own settings.xml decides from where). They need a JDK of 11 or later; `JAVA` names one, else `java` of the PATH. And what
 * test/fleet/engines/package.json asks for.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missingSdks } from '../test/sdks/support/sdks.ts'
import { installJaeger } from './jaeger.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const ENGINES = {
  cassandra: '4.1.7',
  kafka: '3.9.1',
  opensearch: '2.19.1',
  'opensearch-http': '2.19.1',
} as const
export type Engine = keyof typeof ENGINES

/** The folder of an engine's jars. */
export function jarsOf(engine: Engine): string {
  return join(root, '.cache', 'fleet', `${engine}-${ENGINES[engine]}`)
}

/** Which of them are not installed. */
export function missingEngines(): Engine[] {
  return (Object.keys(ENGINES) as Engine[]).filter((engine) => !existsSync(jarsOf(engine)))
}

function install(engine: Engine): void {
  const folder = jarsOf(engine)
  // Copied beside its place and renamed, so that what was cut short never looks finished.
  const unfinished = `${folder}.${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  const pom = join(root, 'test/fleet/engines', engine, 'pom.xml')
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies'
  execFileSync('mvn', ['-q', '-B', '-f', pom, goal, `-DoutputDirectory=${unfinished}`], { stdio: 'inherit' })
  renameSync(unfinished, folder)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (missingSdks('test/fleet/engines').length > 0) {
    const options = ['--no-audit', '--no-fund', '--ignore-scripts']
    execFileSync('npm', ['ci', ...options], { cwd: join(root, 'test/fleet/engines'), stdio: 'inherit' })
  }
  const missing = missingEngines()
  for (const engine of missing) install(engine)
  for (const engine of Object.keys(ENGINES) as Engine[]) console.log(`${engine}: ${jarsOf(engine)}`)
  const jaeger = await installJaeger()
  console.log(`jaeger: ${jaeger.kind === 'binary' ? jaeger.path : jaeger.image}`)
}
