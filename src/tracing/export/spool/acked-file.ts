import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Place } from '../parcel.ts'
import { isOutOfFiles } from './out-of-files.ts'

export const ACKED = 'acked'
/** Fixed, so that it is overwritten in place: it is never seen half, and needs no room on a full disk. */
const BYTES = 32

/** How far a folder's segments are delivered: everything up to there need not be kept. */
export class AckedFile {
  #fd: number | undefined

  /** @throws what the system says. */
  constructor(folder: string, options: { isNew: boolean }) {
    this.#fd = openSync(join(folder, ACKED), options.isNew ? 'wx' : 'r+', 0o600)
    if (options.isNew) this.write({ segment: 0, end: 0 })
  }

  /** @throws what the system says. */
  write({ segment, end }: Pick<Place, 'segment' | 'end'>): void {
    if (this.#fd !== undefined) writeSync(this.#fd, `${segment} ${end}`.padEnd(BYTES - 1).concat('\n'), 0)
  }

  /** Once: the number of a closed file is soon another file's. */
  close(): void {
    const fd = this.#fd
    this.#fd = undefined
    if (fd !== undefined) closeSync(fd)
  }
}

/** What cannot be read counts as nothing: better twice than never. @throws where too many files are open to read it now. */
export function readAcked(folder: string): Pick<Place, 'segment' | 'end'> {
  try {
    const [segment, end] = readFileSync(join(folder, ACKED), 'utf8').trim().split(' ').map(Number)
    if (Number.isInteger(segment) && Number.isInteger(end)) {
      return { segment: segment as number, end: end as number }
    }
  } catch (error) {
    if (isOutOfFiles(error)) throw error
    // Its owner died before it was made.
  }
  return { segment: 0, end: 0 }
}
