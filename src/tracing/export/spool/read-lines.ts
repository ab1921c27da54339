import { closeSync, openSync, readSync } from 'node:fs'

export interface Line {
  readonly bytes: Buffer
  /** Where the next line begins. */
  readonly end: number
}

const CHUNK_BYTES = 256 * 1024
/** No record is so long; what is, is no record, and must not fill memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024
const NEWLINE = 10
const NONE = Buffer.alloc(0)

/**
 * The lines of a file from byte `from` on, before byte `upTo`, a chunk at a time. A last line without its line break was
 * cut off by the death of its writer, and is left out.
 *
 * @throws what the system says.
 */
export function* readLines(path: string, from = 0, upTo = Number.POSITIVE_INFINITY): Generator<Line> {
  const fd = openSync(path, 'r')
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    let parts: Buffer[] = []
    let partBytes = 0
    let at = from
    while (at < upTo) {
      const bytes = readSync(fd, chunk, 0, Math.min(CHUNK_BYTES, upTo - at), at)
      if (bytes === 0) return
      let start = 0
      for (;;) {
        const stop = chunk.subarray(0, bytes).indexOf(NEWLINE, start)
        if (stop === -1) break
        parts.push(chunk.subarray(start, stop))
        const line = partBytes > MAX_LINE_BYTES ? NONE : Buffer.concat(parts)
        parts = []
        partBytes = 0
        start = stop + 1
        yield { bytes: line, end: at + start }
      }
      partBytes += bytes - start
      if (partBytes > MAX_LINE_BYTES) parts = []
      else parts.push(Buffer.from(chunk.subarray(start, bytes)))
      at += bytes
    }
  } finally {
    close(fd)
  }
}

function close(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // Nothing was written to it.
  }
}
