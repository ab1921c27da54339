import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.env.HOOKSPAN_DATA ?? fileURLToPath(new URL('../../../shared/data', import.meta.url))

/**
 * The folder of real recordings, which are not part of the repository: `HOOKSPAN_DATA`, else `../shared/data`
 * beside the clone. Undefined when it is absent, so that a test can skip; in CI its absence is a failure.
 */
export function recordingsFolder(): string | undefined {
  if (existsSync(join(folder, 'manifest.json'))) return folder
  const message = `No recordings in ${folder}. Set HOOKSPAN_DATA to the folder that holds manifest.json.`
  if (process.env.CI === 'true') throw new Error(message)
  console.warn(`Skipped: ${message}`)
  return undefined
}
