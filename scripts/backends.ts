/** Installs the backends that `npm run test:backends` sends to: Phoenix from PyPI, Grafana Tempo out of Go modules. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildGo } from './go-program.ts'

const PHOENIX_VERSION = '20.26.1'

/**
 * Tempo's main of 2025-05-29, after 2.8.0-rc.0. Its releases since 1.5 do not follow the rules of Go's module paths, so that
 * only commits can be had, and of those only what somebody has asked the proxy for.
 */
const TEMPO = {
  module: 'github.com/grafana/tempo',
  version: 'v1.5.1-0.20250529124718-87c2dc380cec',
  command: './cmd/tempo',
  sums: [
    'h1:wnzJov9RhSHGaTYGzTygL4qq986fLen8xSqnQgaMd28=',
    'h1:j1IY7J2rUz7TcTjFVVx6HCpyTlYOJPtXuGRZ7sI+vSo=',
  ],
} as const

const cache = fileURLToPath(new URL('../.cache', import.meta.url))

installPhoenix()
await installTempo()

function installPhoenix(): void {
  const venv = join(cache, 'phoenix', PHOENIX_VERSION)
  const done = join(venv, 'bin', 'phoenix')
  if (!existsSync(done)) {
    const python = process.env.PYTHON ?? 'python3'
    execFileSync(python, ['-m', 'venv', venv], { stdio: 'inherit' })
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      `arize-phoenix==${PHOENIX_VERSION}`,
    ]
    execFileSync(join(venv, 'bin', 'python'), pip, { stdio: 'inherit' })
  }
  console.log(`Phoenix ${PHOENIX_VERSION}: ${done}`)
}

async function installTempo(): Promise<void> {
  const done = process.env.TEMPO_BIN ?? join(cache, 'tempo', TEMPO.version, 'tempo')
  if (!existsSync(done)) {
    console.error('Building Grafana Tempo with Go; the first time takes several minutes.')
    await buildGo(TEMPO, done)
  }
  console.log(`Tempo ${TEMPO.version}: ${done}`)
}
