import { closeSync, existsSync, fchmodSync, fchownSync, fstatSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes an empty file, where there is none, that nobody but its owner may read from its first byte on; SQLite gives what
 * it puts beside a database the same rights. A file that is there is not touched: to close it would let go of the locks
 * that this process has on it.
 *
 * Made by root, it belongs to whom its folder belongs to: the service there would be shut out of it. `like`: the file that
 * it stands beside; whoever may use that one may use this one.
 */
export function makePrivateFile(path: string, like?: string): void {
  if (existsSync(path)) return
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      giveAs(file, like ?? dirname(path), like !== undefined)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // Made by another process a moment ago, or a link that leads to no file yet.
    closeSync(openSync(path, 'a', 0o600))
  }
}

function giveAs(file: number, like: string, isAlike: boolean): void {
  try {
    const { uid, gid, mode } = statSync(like)
    const own = fstatSync(file)
    if (process.geteuid?.() === 0) fchownSync(file, uid, gid)
    else if (isAlike && own.gid !== gid) fchownSync(file, own.uid, gid)
    if (isAlike) fchmodSync(file, 0o600 | (mode & 0o066))
  } catch {
    // The one that it stands beside is gone, or the system lets nobody give files away: it stays private.
  }
}
