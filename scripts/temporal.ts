/**
 * Finds a Temporal to test `hookspan/temporal` against, building its dev server when there is none: `npm run temporal:install`.
 *
 * Order: `TEMPORAL_BIN`, the cache in `.cache/temporal/`, a build through the Go module proxy.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildGo, isExecutable } from './go-program.ts'

/** Later ones have a module in them that is not on the proxy, and cannot be built out of it. */
const TEMPORAL = {
  module: 'github.com/temporalio/cli',
  version: 'v1.5.1',
  command: './cmd/temporal',
} as const

const exe = process.platform === 'win32' ? 'temporal.exe' : 'temporal'
const cached = fileURLToPath(new URL(join('../.cache/temporal', TEMPORAL.version, exe), import.meta.url))

/**
 * Temporal's command line, whose `server start-dev` is a server; undefined where there is none.
 *
 * @throws Error when `TEMPORAL_BIN` does not name a program.
 */
export function findTemporal(): string | undefined {
  const chosen = process.env.TEMPORAL_BIN
  if (chosen === undefined || chosen === '') return isExecutable(cached) ? cached : undefined
  if (isExecutable(chosen)) return chosen
  throw new Error(
    `\`TEMPORAL_BIN\` is ${JSON.stringify(chosen)}, which is not a program that can be run. ` +
      "Set it to the path of Temporal's command line, or unset it to use what `npm run temporal:install` builds.",
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (findTemporal() === undefined) {
    console.error(`Building Temporal ${TEMPORAL.version} with Go; it takes about ten minutes.`)
    await buildGo(TEMPORAL, cached)
  }
  console.log(findTemporal())
}
