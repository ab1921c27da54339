import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorMessage } from '../../internal/errors.ts'
import { makeFolder } from '../../internal/make-folder.ts'
import { UsageError } from '../failure.ts'

/** Writes what a command was to write, and the folders to it. @throws UsageError where it cannot; `option` names the file. */
export async function writeOut(path: string, data: string | Uint8Array, option?: string): Promise<void> {
  try {
    makeFolder(dirname(path))
    await writeFile(path, data)
  } catch (error) {
    throw cannotWrite(path, error, option)
  }
}

export function cannotWrite(path: string, error: unknown, option = '--out'): UsageError {
  return new UsageError(
    `Cannot write to "${path}" (${errorMessage(error)}). Give another file with ${option}.`,
    { cause: error },
  )
}
