import { realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { within } from '../../internal/async.ts'

const PATIENCE_MS = 30_000

/** What a config module exports, as it is in the file now. */
export async function loadModule(file: string): Promise<unknown> {
  // A new address each time, or a changed file would not be seen again. CommonJS is kept by the path alone.
  delete createRequire(file).cache[realpathSync(file)]
  const loading: Promise<{ default?: unknown }> = import(
    `${pathToFileURL(file).href}?t=${statSync(file).mtimeMs}`
  )
  // A process that waits for it and has nothing else to do would end, with 0, as though there were no guards.
  const module = await within(PATIENCE_MS, loading)
  if (module === undefined)
    throw new Error(`it waits for something that has not come in ${PATIENCE_MS / 1_000} s`)
  return module.default
}
