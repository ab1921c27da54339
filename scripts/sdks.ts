/**
 * Installs the SDKs that `npm run test:sdks` tests the adapters with: `npm run sdks:install`. They are too heavy for
 * everybody's `npm ci`, so they have a package and a lock of their own in test/sdks. Does nothing where they are there.
 */
import { spawnSync } from 'node:child_process'
import { missingSdks, SDK_FOLDERS, sdksWithoutLock } from '../test/sdks/support/sdks.ts'

for (const folder of SDK_FOLDERS) {
  const missing = missingSdks(folder)
  if (missing.length === 0) {
    console.log(`The SDKs of ${folder} are installed.`)
    continue
  }
  console.log(`Installing ${missing.join(', ')} into ${folder}/node_modules: npm, some hundred MB.`)
  const without = Object.entries(sdksWithoutLock(folder)).map(([name, version]) => `${name}@${version}`)
  if (missing.some((one) => !without.includes(one))) npm(folder, 'ci')
  if (without.length > 0) npm(folder, 'install', '--no-save', '--no-package-lock', ...without)
}

function npm(folder: string, ...args: string[]): void {
  const { status, error } = spawnSync('npm', [...args, '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error !== undefined) throw error
  if (status !== 0) process.exitCode = status ?? 1
}
