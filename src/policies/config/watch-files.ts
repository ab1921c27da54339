import { type FSWatcher, readlinkSync, realpathSync, watch } from 'node:fs'
import { basename, dirname, isAbsolute, sep } from 'node:path'
import { unref } from '../../internal/async.ts'

/** Editors write a file in several steps. */
const SETTLE_MS = 100

/** Tells when one of some files may have changed: itself, or what it is a link to. */
export class FileWatch implements Disposable {
  readonly #onChange: () => void
  readonly #onError: (error: unknown) => void
  readonly #watchers = new Map<string, FSWatcher>()
  /** By folder: what in it is one of the files, or is on the way to one. */
  #names = new Map<string, Set<string>>()
  #timer: NodeJS.Timeout | undefined

  constructor(onChange: () => void, onError: (error: unknown) => void) {
    this.#onChange = onChange
    this.#onError = onError
  }

  /** Called again where links may lead elsewhere. */
  look(files: readonly string[]): void {
    const names = new Map<string, Set<string>>()
    const add = (folder: string, name: string) =>
      names.set(folder, (names.get(folder) ?? new Set()).add(name))
    for (const file of files) for (const { folder, name } of placesOf(file)) add(folder, name)
    this.#names = names
    for (const [folder, watcher] of this.#watchers) {
      if (names.has(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    for (const folder of names.keys()) if (!this.#watchers.has(folder)) this.#watch(folder)
  }

  #watch(folder: string): void {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      if (name !== null && !this.#names.get(folder)?.has(name)) return
      clearTimeout(this.#timer)
      this.#timer = setTimeout(this.#onChange, SETTLE_MS)
      unref(this.#timer)
    })
    watcher.on('error', this.#onError)
    this.#watchers.set(folder, watcher)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }
}

/** Of a file that Kubernetes mounts out of a ConfigMap it is a folder's link beside it that is put anew. */
function placesOf(file: string): { folder: string; name: string }[] {
  const folder = dirname(file)
  const own = { folder, name: basename(file) }
  try {
    const link = readlinkSync(file)
    const real = realpathSync(file)
    const through = isAbsolute(link) ? [] : [{ folder, name: link.split(sep)[0] ?? '' }]
    return [own, ...through, { folder: dirname(real), name: basename(real) }]
  } catch {
    // No link, or one that leads to nothing now.
    return [own]
  }
}
