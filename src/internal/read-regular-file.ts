import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

export class FileTooLarge extends Error {}

/**
 * The whole of a regular file. A pipe would be waited for as long as nobody writes, and a device as /dev/zero read without
 * end.
 *
 * @throws Error in one line: what the system says, or that it is no regular file; FileTooLarge.
 */
export function readRegularFile(path: string, maxBytes = Number.POSITIVE_INFINITY): Buffer {
  return withRegularFile(path, (file, size) => {
    if (size > maxBytes) {
      throw new FileTooLarge(`the file has ${size} bytes, more than the ${maxBytes} that are read at once`)
    }
    return readFileSync(file)
  })
}

/** The same for one that is not held as a whole. */
export function withRegularFile<T>(path: string, read: (file: number, size: number) => T): T {
  // Not blocking: to open a pipe waits for somebody who writes.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stat = fstatSync(file)
    if (!stat.isFile()) throw new Error(stat.isDirectory() ? 'it is a folder' : 'it is no regular file')
    return read(file, stat.size)
  } finally {
    closeSync(file)
  }
}
