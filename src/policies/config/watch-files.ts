import { type Stats, stat, statSync } from 'node:fs'
import { unref } from '../../internal/async.ts'

/** What looks otherwise counts once it looks so twice: editors write a file in several steps. */
const LOOK_MS = 100

/**
 * Tells when one of some files has changed. It looks: who waits to be told hears nothing of a folder on the way that is another one
 * now, nor of what another machine writes.
 */
export class FileWatch implements Disposable {
  readonly #files: () => readonly string[]
  readonly #onChange: () => void
  #known: string
  #last: string
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(files: () => readonly string[], onChange: () => void) {
    this.#files = files
    this.#onChange = onChange
    // At once: what changes from here on is a change.
    this.#known = this.#files()
      .map((file) => textOf(statSync(file, { throwIfNoEntry: false })))
      .join()
    this.#last = this.#known
    this.#later()
  }

  #later(): void {
    this.#timer = unref(setTimeout(() => void this.#look(), LOOK_MS))
  }

  /** Not at once: a disk that is away holds nobody up. */
  async #look(): Promise<void> {
    const now = (await Promise.all(this.#files().map(looksOf))).join()
    if (this.#isOver) return
    const isChanged = now === this.#last && now !== this.#known
    this.#last = now
    if (isChanged) {
      this.#known = now
      this.#onChange()
    }
    this.#later()
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}

/** Of what the path leads to. */
function looksOf(file: string): Promise<string> {
  return new Promise((resolve) => stat(file, (error, found) => resolve(textOf(error ? undefined : found))))
}

function textOf(found: Stats | undefined): string {
  if (found === undefined) return ''
  const { dev, ino, size, mtimeMs, ctimeMs } = found
  return [dev, ino, size, mtimeMs, ctimeMs].join(':')
}
