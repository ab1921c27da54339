import { realpathSync, statSync } from 'node:fs'
import { createRequire as requireFrom } from 'node:module'
import { pathToFileURL } from 'node:url'
import { within } from '../../internal/async.ts'
import { errorSentence } from '../../internal/errors.ts'
import { sha256 } from '../../internal/sha256.ts'
import { configError } from './source.ts'

const PATIENCE_MS = 30_000

/**
 * What a config module exports, as it is in the file now.
 *
 * @param text What is in it: a file may be written anew and keep its time.
 * @throws HookspanError `INVALID_CONFIG`.
 */
export async function loadModule(file: string, text: string): Promise<unknown> {
  // The import stands within `try`, or Turbopack refuses to build what it cannot know.
  try {
    // A new address each time, or a changed file would not be seen again. CommonJS is kept by the path alone.
    delete requireFrom(file).cache[realpathSync(file)]
    const loading = import(`${pathToFileURL(file).href}?t=${statSync(file).mtimeMs}-${sha256(text)}`)
    // A process that waits for it and has nothing else to do would end, with 0, as though there were no guards.
    const module: { default?: unknown } | undefined = await within(PATIENCE_MS, loading)
    if (module !== undefined) return module.default
  } catch (error) {
    throw configError(file, undefined, `the module cannot be loaded: ${errorSentence(error)}`)
  }
  const message = `the module cannot be loaded: it waits for what has not come in ${PATIENCE_MS / 1_000} s.`
  throw configError(file, undefined, message)
}
