import { closeSync, existsSync, openSync } from 'node:fs'

/**
 * Makes an empty file, where there is none, that nobody but its owner may read from its first byte on; SQLite gives what
 * it puts beside a database the same rights. A file that is there is not touched: to close it would let go of the locks
 * that this process has on it.
 */
export function makePrivateFile(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // Made by another process a moment ago, or a link that leads to no file yet.
    closeSync(openSync(path, 'a', 0o600))
  }
}
