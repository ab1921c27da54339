/** Builds `dist/`: compiles the sources and makes the command executable. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildUi } from './build-ui.ts'
import { bundleCore } from './bundle-core.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}/dist`, { recursive: true, force: true })
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
await bundleCore(`${root}dist`)
if (existsSync(`${root}/dist/cli/bin.js`)) chmodSync(`${root}/dist/cli/bin.js`, 0o755)
await buildUi()
