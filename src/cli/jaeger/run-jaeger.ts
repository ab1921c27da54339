import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { errorSentence } from '../../internal/errors.ts'
import { isJaeger } from '../../tracing/links/collector.ts'
import { EXIT, UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'

export interface JaegerOptions {
  print?: boolean
  write?: boolean | string
  stop?: boolean
}

/** Ships with the package; `src` and `dist` are both three folders above. */
const COMPOSE_FILE = fileURLToPath(new URL('../../../docker-compose.jaeger.yml', import.meta.url))
const FILE_NAME = 'docker-compose.jaeger.yml'
const PAGE = 'http://localhost:16686'
const ENDPOINT = 'http://localhost:4318'
const DOCKER_ANSWER_MS = 10_000

/** Gives the exit code: 1 when no Jaeger runs though one was asked for. */
export async function runJaeger({ print, write, stop }: JaegerOptions): Promise<number> {
  const compose = readFileSync(COMPOSE_FILE, 'utf8')
  if (write !== undefined) return writeCompose(write === true ? FILE_NAME : String(write), compose)
  if (print) {
    process.stdout.write(compose)
    return EXIT.done
  }
  if (stop) return stopJaeger()
  if (await isJaeger(PAGE)) return tellWhere('Jaeger runs already')
  const missing = await dockerTrouble()
  if (missing === undefined) return startJaeger()
  process.stdout.write(compose)
  console.error(
    `\nNothing was started: ${missing} Above is the compose file; \`hookspan jaeger --write\` writes it, ` +
      'and `hookspan view` shows traces without Docker.',
  )
  return EXIT.failed
}

/** @throws UsageError rather than write over a file that says something else. */
function writeCompose(file: string, compose: string): number {
  try {
    writeFileSync(file, compose, { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new UsageError(`Cannot write ${file}: ${errorSentence(error)}`, { cause: error })
    }
    if (!isSame(file, compose)) {
      throw new UsageError(
        `${shown(file)} is there already and says something else. Give --write another name.`,
      )
    }
  }
  console.log(`Wrote ${shown(file)}. Start it: docker compose -f ${shown(file)} up -d --wait`)
  return EXIT.done
}

function isSame(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'utf8') === text
  } catch {
    return false
  }
}

async function startJaeger(): Promise<number> {
  const code = await docker(['compose', '-f', COMPOSE_FILE, 'up', '-d', '--wait'])
  if (code === 0) return tellWhere('Jaeger is up')
  console.error(
    `\nJaeger did not start; Docker says above why. Is one of the ports 16686, 4318 and 4317 taken, by ` +
      '`hookspan view` perhaps?',
  )
  return EXIT.failed
}

async function stopJaeger(): Promise<number> {
  const missing = await dockerTrouble()
  if (missing !== undefined) throw new UsageError(`Nothing was stopped: ${missing}`)
  return (await docker(['compose', '-f', COMPOSE_FILE, 'down'])) === 0 ? EXIT.done : EXIT.failed
}

function tellWhere(state: string): number {
  console.log(`${state}  ${PAGE}`)
  console.log(`send traces to  ${ENDPOINT}  (OTLP over HTTP, the default of OpenTelemetry SDKs)`)
  console.log('stop it with    hookspan jaeger --stop')
  return EXIT.done
}

/** Why Docker cannot start anything here. */
async function dockerTrouble(): Promise<string | undefined> {
  const answers = (args: string[]) =>
    promisify(execFile)('docker', args, { timeout: DOCKER_ANSWER_MS }).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    )
  const away = await answers(['version', '--format', '{{.Server.Version}}'])
  if (away?.code === 'ENOENT') return 'Docker is not installed.'
  if (away !== undefined) return 'Docker does not answer; is it running?'
  const compose = await answers(['compose', 'version'])
  return compose === undefined ? undefined : 'Docker has no `compose` here.'
}

/** What it says goes to stderr: what is printed here is for whoever reads our output. */
async function docker(args: string[]): Promise<number> {
  const child = spawn('docker', args, { stdio: ['ignore', 2, 2] })
  const [code] = (await once(child, 'close')) as [number | null]
  return code ?? 1
}
