import { existsSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '../../../internal/errors.ts'
import { FileLock } from '../../../internal/file-lock.ts'
import { assertFilesToOpen } from './out-of-files.ts'
import { segmentsIn } from './segment-log.ts'

const LOCK = 'lock'

/** Whether a file of that name is the lock, or one that SQLite has beside it. */
export function isOfLock(name: string): boolean {
  return name.startsWith(LOCK)
}

/**
 * A folder that belongs to one process, or to one thread of it, for as long as that lives: it holds the lock file in it.
 * Process ids play no part, which are the same in every container.
 *
 * Only who makes a folder makes its lock file, and only who holds the lock removes it. So whoever has the lock and still
 * sees the file holds the one that all others see.
 */
export class FolderLock {
  readonly folder: string
  readonly #lock: FileLock

  private constructor(folder: string, lock: FileLock) {
    this.folder = folder
    this.#lock = lock
  }

  /** In a folder that was just made. Undefined when somebody took it for one whose owner has died. @throws what the system says. */
  static make(folder: string): FolderLock | undefined {
    return FolderLock.#take(folder, { make: true })
  }

  /**
   * Of a folder whose owner has died. Undefined while that lives, or when somebody else has it.
   *
   * @throws what keeps everybody from it: nothing in it would be delivered; what the system says where no file can be opened just now.
   */
  static adopt(folder: string): FolderLock | undefined {
    const path = join(folder, LOCK)
    try {
      if (existsSync(path)) return FolderLock.#take(folder, { make: false })
      // Made this moment, or left by one that died then. Only an empty folder goes.
      rmdirSync(folder)
    } catch (error) {
      assertFilesToOpen()
      if (existsSync(path)) throw new Error(`its lock cannot be taken: ${errorMessage(error)}`)
      if (hasSegments(folder)) throw new Error('its lock file is gone')
    }
    return undefined
  }

  static #take(folder: string, options: { make: boolean }): FolderLock | undefined {
    const path = join(folder, LOCK)
    const lock = FileLock.take(path, options)
    if (lock === undefined) return undefined
    if (existsSync(path)) return new FolderLock(folder, lock)
    lock.release()
    return undefined
  }

  /** Lets go of it; what is in the folder is adopted by the next who looks. */
  release(): void {
    this.#lock.release()
  }

  /** Removes the folder, which is empty but for the lock. */
  remove(): void {
    const path = join(this.folder, LOCK)
    try {
      unlinkSync(path)
      this.release()
    } catch {
      // Windows removes no file that is open.
      this.release()
      unlinkSync(path)
    }
    try {
      rmdirSync(this.folder)
    } catch (error) {
      // Who looks for leftovers removes an empty folder without a lock, too.
      if (existsSync(this.folder)) throw error
    }
  }
}

function hasSegments(folder: string): boolean {
  try {
    return segmentsIn(folder).length > 0
  } catch {
    return false
  }
}
