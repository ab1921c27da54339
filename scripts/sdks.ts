/**
 * Installs the SDKs that `npm run test:sdks` tests the adapters with: `npm run sdks:install`. They are too heavy for
 * everybody's `npm ci`, so they have a package and a lock of their own in test/sdks. Does nothing where they are there.
 */
import { spawnSync } from 'node:child_process'
import { missingSdks, SDKS_FOLDER } from '../test/sdks/support/sdks.ts'

const missing = missingSdks()
if (missing.length === 0) {
  console.log(`The SDKs of ${SDKS_FOLDER} are installed.`)
} else {
  console.log(`Installing ${missing.join(', ')} into ${SDKS_FOLDER}/node_modules: npm ci, about 600 MB.`)
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: SDKS_FOLDER,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error !== undefined) throw error
  process.exitCode = status ?? 1
}
