import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder, and those above it. `mkdirSync` with `recursive` never returns where nothing can be made although the
 * folder above is there, as under /proc.
 *
 * @throws what the system says of the first one that cannot be made.
 */
export function makeFolder(folder: string, options: { mode?: number } = {}): void {
  const path = resolve(folder)
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above, options)
  try {
    mkdirSync(path, options)
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(path)) throw error
  }
}
