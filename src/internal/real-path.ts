import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * The one path of a file, whatever links lead to it and wherever the process goes: what stands beside it is found by all. Of one that is
 * not there yet, the absolute path.
 */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return resolve(path)
  }
}
