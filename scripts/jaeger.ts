/**
 * Finds a Jaeger to test against, building one when there is none: `npm run jaeger:install`.
 *
 * Order: `JAEGER_BIN`, the cache in `.cache/jaeger/`, a build through the Go module proxy, Docker.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildGo, isExecutable } from './go-program.ts'

/** The last v1 tag that fits Go's module path rules; its `cmd/jaeger` is Jaeger v2.13.0. */
export const JAEGER_VERSION = 'v1.76.0'

const MODULE = 'github.com/jaegertracing/jaeger'
const root = fileURLToPath(new URL('..', import.meta.url))
const exe = process.platform === 'win32' ? 'jaeger.exe' : 'jaeger'
const cachedBinary = join(root, '.cache', 'jaeger', JAEGER_VERSION, exe)
const run = promisify(execFile)

export type JaegerSource = { kind: 'binary'; path: string } | { kind: 'docker'; image: string }

/**
 * Where a Jaeger is, without building one.
 *
 * @throws Error when `JAEGER_BIN` does not name a program, or when there is no Jaeger at all.
 */
export async function findJaeger(): Promise<JaegerSource> {
  const found = installedBinary() ?? (await dockerImage())
  if (found) return found
  throw new Error(
    `Found no Jaeger: \`JAEGER_BIN\` is not set, ${cachedBinary} does not exist and Docker does not answer. ` +
      'Install Go and run `npm run jaeger:install`, start Docker, or set `JAEGER_BIN` to a Jaeger v2 binary.',
  )
}

/** Like {@link findJaeger}, but builds the pinned version into the cache when Go is there to do it. */
export async function installJaeger(): Promise<JaegerSource> {
  const found = installedBinary()
  if (found) return found
  if (await answers('go', ['version'])) {
    await buildJaeger(cachedBinary)
    return { kind: 'binary', path: cachedBinary }
  }
  return findJaeger()
}

function installedBinary(): JaegerSource | undefined {
  const chosen = process.env.JAEGER_BIN
  if (chosen) {
    if (!isExecutable(chosen)) {
      throw new Error(
        `\`JAEGER_BIN\` is ${JSON.stringify(chosen)}, which is not a program that can be run. ` +
          'Set it to the path of a Jaeger v2 binary, or unset it to use the cache, Go or Docker.',
      )
    }
    return { kind: 'binary', path: chosen }
  }
  return isExecutable(cachedBinary) ? { kind: 'binary', path: cachedBinary } : undefined
}

async function dockerImage(): Promise<JaegerSource | undefined> {
  if (!(await answers('docker', ['version', '--format', '{{.Server.Version}}']))) return undefined
  const compose = readFileSync(join(root, 'docker-compose.jaeger.yml'), 'utf8')
  const image = /^\s*image:\s*(\S+)/m.exec(compose)?.[1]
  if (!image) throw new Error('Found no `image:` line in docker-compose.jaeger.yml.')
  return { kind: 'docker', image }
}

async function answers(command: string, args: string[]): Promise<boolean> {
  try {
    await run(command, args, { timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

/** The result carries no web page, only the receivers and the query API: enough for tests, not for viewing. */
async function buildJaeger(target: string): Promise<void> {
  console.error(`Building Jaeger ${JAEGER_VERSION} with Go; the first time takes several minutes.`)
  await buildGo({ module: MODULE, version: JAEGER_VERSION, command: './cmd/jaeger' }, target)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const jaeger = await installJaeger()
    console.log(jaeger.kind === 'binary' ? jaeger.path : `docker:${jaeger.image}`)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
