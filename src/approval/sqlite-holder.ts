import { existsSync, readdirSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorSentence } from '../internal/errors.ts'
import { FileLock } from '../internal/file-lock.ts'
import { makePrivateFile } from '../internal/private-file.ts'
import { realPath } from '../internal/real-path.ts'

/**
 * Whoever holds something of a database, known by a file beside it that is locked for as long as they live: process ids
 * are the same in every container.
 */
export class SqliteHolder {
  readonly #database: string
  #own: { readonly id: string; readonly lock: FileLock } | undefined

  constructor(database: string) {
    this.#database = realPath(database)
  }

  /** Of this store in this process. @throws what the system says. */
  get id(): string {
    if (this.#own === undefined) {
      this.#sweep()
      this.#own = this.#lock()
    }
    return this.#own.id
  }

  isAlive(id: string): boolean {
    return id === this.#own?.id || !this.#isFree(id)
  }

  release(): void {
    if (this.#own === undefined) return
    this.#remove(this.#own.id)
    this.#own.lock.release()
    this.#own = undefined
  }

  #lock(): { id: string; lock: FileLock } {
    for (;;) {
      const id = crypto.randomUUID()
      makePrivateFile(this.#pathOf(id), this.#database)
      const lock = this.#take(id)
      if (lock === 'gone' || lock === undefined) continue
      // Whoever swept at this moment took it for one of a holder that has died.
      if (existsSync(this.#pathOf(id))) return { id, lock }
      lock.release()
    }
  }

  /** What died left its file: who gets the lock of it removes it. */
  #isFree(id: string): boolean {
    const lock = this.#take(id)
    if (lock === 'gone') return true
    if (lock === undefined) return false
    this.#remove(id)
    lock.release()
    return true
  }

  #take(id: string): FileLock | 'gone' | undefined {
    const path = this.#pathOf(id)
    try {
      return existsSync(path) ? FileLock.take(path) : 'gone'
    } catch (error) {
      // Removed by another at this moment.
      if (!existsSync(path)) return 'gone'
      const why = `Whether who holds a run still lives is not known: "${path}" cannot be opened: ${errorSentence(error)}`
      throw new Error(`${why} Give it the owner and the rights of the database.`, { cause: error })
    }
  }

  #sweep(): void {
    const start = `${basename(this.#database)}.holder-`
    for (const name of readdirSync(dirname(this.#database))) {
      if (!name.startsWith(start) || !name.endsWith('.lock')) continue
      try {
        this.#isFree(name.slice(start.length, -'.lock'.length))
      } catch {
        // Of another user: no matter, as long as nobody asks for the run that it holds.
      }
    }
  }

  #remove(id: string): void {
    try {
      unlinkSync(this.#pathOf(id))
    } catch {
      // Windows removes no file that is open: the next one who sweeps does.
    }
  }

  #pathOf(id: string): string {
    return join(dirname(this.#database), `${basename(this.#database)}.holder-${id}.lock`)
  }
}
