import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../../internal/make-folder.ts'
import type { Place } from '../parcel.ts'
import { ACKED, AckedFile } from './acked-file.ts'
import { FolderLock } from './folder-lock.ts'
import { SegmentLog } from './segment-log.ts'

const TRIES = 10

/** By its name a folder of ours is told from what else may lie there. Names sort by age. */
export const OWN_NAME = /^[0-9a-z]{8,}-[0-9a-f]{12}$/

/** The folder in `spoolDir` that one process writes to: its lock, its segments, and how far they are delivered. */
export class OwnFolder {
  readonly path: string
  readonly log: SegmentLog
  readonly #lock: FolderLock
  readonly #acked: AckedFile

  private constructor(lock: FolderLock, segmentBytes: number, firstSegment?: number) {
    this.path = lock.folder
    this.#lock = lock
    this.log = new SegmentLog(lock.folder, segmentBytes, firstSegment)
    this.#acked = new AckedFile(lock.folder, { isNew: true })
  }

  /** `firstSegment`: one that no place of this process has. @throws what the system says. */
  static make(spoolDir: string, segmentBytes: number, firstSegment = 1): OwnFolder {
    for (let i = 0; i < TRIES; i++) {
      const path = join(spoolDir, `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`)
      makeFolder(spoolDir, { mode: 0o700 })
      mkdirSync(path, { mode: 0o700 })
      try {
        const lock = FolderLock.make(path)
        if (lock !== undefined) return OwnFolder.#in(lock, segmentBytes, firstSegment)
      } catch (error) {
        // Who saw it before its lock took it for one whose owner has died.
        if (!existsSync(path)) continue
        rmSync(path, { recursive: true, force: true })
        throw error
      }
    }
    throw new Error(`others took each of ${TRIES} new folders`)
  }

  static #in(lock: FolderLock, segmentBytes: number, firstSegment: number): OwnFolder {
    try {
      return new OwnFolder(lock, segmentBytes, firstSegment)
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /** Whether somebody has removed it, and what is written goes into files that nobody finds. */
  get isGone(): boolean {
    try {
      statSync(this.path)
      return false
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT'
    }
  }

  /** Everything up to there need not be kept. @throws what the system says. */
  acked(place: Place): void {
    this.#acked.write(place)
  }

  /** Lets go of the folder, for others to adopt, or of nothing at all. @throws what the system says. */
  close(options: { keep: boolean }): void {
    try {
      this.log.rotate()
      this.#acked.close()
      if (this.isGone) return
      this.log.removeSpare()
      if (options.keep) return
      while (this.log.segments.length > 0) this.log.dropOldest()
      unlinkSync(join(this.path, ACKED))
      this.#lock.remove()
    } finally {
      this.#lock.release()
    }
  }
}
