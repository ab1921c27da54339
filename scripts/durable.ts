/**
 * Installs the engines that `npm run test:durable` runs agents on: `npm run durable:install`. Their servers are too heavy for
 * everybody's `npm ci`, so they have a package and a lock of their own in test/durable. Does nothing where they are there.
 */
import { spawnSync } from 'node:child_process'
import { missingSdks } from '../test/sdks/support/sdks.ts'

const folder = 'test/durable'
const missing = missingSdks(folder)
if (missing.length === 0) {
  console.log(`The engines of ${folder} are installed.`)
} else {
  console.log(`Installing ${missing.join(', ')} into ${folder}/node_modules: npm ci, 500 MB.`)
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error !== undefined) throw error
  if (status !== 0) process.exitCode = status ?? 1
}
