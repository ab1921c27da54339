import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** Too many files are open just now, which says nothing of the one that was asked for. */
export function isOutOfFiles(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EMFILE' || code === 'ENFILE'
}

/** For errors that do not say so. @throws what the system says where no file at all can be opened. */
export function assertFilesToOpen(): void {
  try {
    closeSync(openSync(devNull, 'r'))
  } catch (error) {
    if (isOutOfFiles(error)) throw error
  }
}
