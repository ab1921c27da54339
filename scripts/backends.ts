/** Installs the backends that `npm run test:backends` sends to: Phoenix, from PyPI, into `.cache/phoenix`. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PHOENIX_VERSION = '20.26.1'

const folder = fileURLToPath(new URL('../.cache/phoenix', import.meta.url))
const venv = join(folder, PHOENIX_VERSION)
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
