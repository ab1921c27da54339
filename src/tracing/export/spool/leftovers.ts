import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errorSentence } from '../../../internal/errors.ts'
import type { Parcel, RequestLimits } from '../parcel.ts'
import { FolderLock } from './folder-lock.ts'
import { Leftover } from './leftover.ts'
import { isOutOfFiles } from './out-of-files.ts'
import { OWN_NAME } from './own-folder.ts'
import type { SetAside } from './set-aside.ts'

export interface LeftoversOptions {
  readonly folder: string
  readonly setAside: SetAside
  readonly onTrouble: (message: string) => void
}

/** Nothing is looked for where no file can be opened. */
const OUT_OF_FILES_MS = 1_000

/** What dead processes left in `spoolDir`, one after the other. No method throws. */
export class Leftovers {
  readonly #options: LeftoversOptions
  #current: Leftover | undefined
  #currentName = ''
  /** Folders that cannot be read or removed; told once, and left alone by this process. */
  readonly #leftAlone = new Set<string>()
  #notBefore = 0

  constructor(options: LeftoversOptions) {
    this.#options = options
  }

  /** Adopts the next folder whose owner has died, if none is at work. Whether there is one now. `own`: not to be looked at. */
  look(own: string | undefined): boolean {
    if (this.#current !== undefined) return true
    if (performance.now() < this.#notBefore) return false
    const ours = own === undefined ? undefined : basename(own)
    for (const name of this.#names()) {
      if (name === ours || this.#leftAlone.has(name)) continue
      this.#currentName = name
      let lock: FolderLock | undefined
      const looked = this.#try(() => {
        lock = FolderLock.adopt(join(this.#options.folder, name))
        if (lock !== undefined) this.#current = new Leftover(lock, this.#options.setAside)
      })
      if (this.#current !== undefined) return true
      if (!looked) lock?.release()
    }
    return false
  }

  /** Whether something is adopted and not all delivered. */
  get isAtWork(): boolean {
    return this.#current !== undefined
  }

  /** The next spans to deliver, the same again until they are settled. None when nothing is adopted. */
  next(limits: RequestLimits): Parcel[] {
    let parcels: Parcel[] = []
    this.#try(() => {
      parcels = this.#current?.next(limits) ?? []
    })
    this.#finish()
    return parcels
  }

  settled(parcels: readonly Parcel[]): void {
    this.#try(() => this.#current?.settled(parcels))
    this.#finish()
  }

  /** Gives up the oldest of what is left. Undefined when there is nothing. */
  dropOldest(own: string | undefined): { readonly bytes: number; readonly spans: number } | undefined {
    let dropped: { bytes: number; spans: number } | undefined
    while (dropped === undefined && this.look(own)) {
      this.#try(() => {
        dropped = this.#current?.dropOldest()
        if (dropped !== undefined) return
        this.#current?.remove()
        this.#current = undefined
      })
    }
    return dropped
  }

  /** Bytes in the folder, but for one process's own. */
  bytesBeside(own: string | undefined): number {
    const ours = own === undefined ? undefined : basename(own)
    return this.#names()
      .filter((name) => name !== ours)
      .reduce((sum, name) => sum + bytesIn(join(this.#options.folder, name)), 0)
  }

  /** Lets go of what is not delivered, for others. */
  close(): void {
    this.#current?.release()
    this.#current = undefined
  }

  #finish(): void {
    const current = this.#current
    if (!current?.isDone) return
    this.#try(() => {
      current.remove()
      this.#current = undefined
    })
  }

  /** False when the folder had to be let go of. */
  #try(fn: () => void): boolean {
    try {
      fn()
      return true
    } catch (error) {
      if (isOutOfFiles(error)) {
        // In a while there may be room, and whoever looks then goes on with it.
        this.#notBefore = performance.now() + OUT_OF_FILES_MS
        this.close()
        return false
      }
      this.#leftAlone.add(this.#currentName)
      const folder = join(this.#options.folder, this.#currentName)
      this.#options.onTrouble(`Cannot deliver what a process left in ${folder}: ${errorSentence(error)}`)
      this.close()
      return false
    }
  }

  #names(): string[] {
    try {
      // A link would lead to a folder of somebody else, which is emptied once it is delivered.
      return readdirSync(this.#options.folder, { withFileTypes: true })
        .filter((entry) => OWN_NAME.test(entry.name) && entry.isDirectory())
        .map(({ name }) => name)
        .sort()
    } catch {
      return []
    }
  }
}

function bytesIn(folder: string): number {
  try {
    return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  } catch {
    // Its owner removed it just now.
    return 0
  }
}
