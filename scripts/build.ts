/**
 * Builds `dist/`: compiles the sources and makes the command executable. With `HOOKSPAN_KEEP_BUILD=1` what is built stays:
 * for suites that run beside each other.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { askNode } from './ask-node.ts'
import { buildUi } from './build-ui.ts'
import { bundle } from './bundle/bundle.ts'
import { inlineNames } from './inline-names.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
if (process.env.HOOKSPAN_KEEP_BUILD === '1' && existsSync(`${root}/dist/cli/bin.js`)) process.exit()
rmSync(`${root}/dist`, { recursive: true, force: true })
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
for (const folder of ['spans', 'tracing']) inlineNames(`${root}dist/${folder}`)
askNode(`${root}dist`)
await bundle(`${root}dist`)
if (existsSync(`${root}/dist/cli/bin.js`)) chmodSync(`${root}/dist/cli/bin.js`, 0o755)
await buildUi()
