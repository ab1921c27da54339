import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const MEDIA_TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

export interface StaticFile {
  body: Buffer
  mediaType: string
}

/** The page's files, read once. They are built into the package; from the sources, the last build is served. */
export class StaticFiles {
  readonly #files = new Map<string, StaticFile>()
  readonly #folder: string | undefined

  constructor() {
    const folders = ['../ui/', '../../../dist/viewer/ui/'].map((path) =>
      fileURLToPath(new URL(path, import.meta.url)),
    )
    this.#folder = folders.find((folder) => existsSync(`${folder}index.html`))
  }

  get(name: string): StaticFile | undefined {
    if (!this.#folder || !/^[a-z][a-z-]*\.(html|js|css|svg)$/.test(name)) return undefined
    const known = this.#files.get(name)
    if (known) return known
    const path = `${this.#folder}${name}`
    if (!existsSync(path)) return undefined
    const file = { body: readFileSync(path), mediaType: MEDIA_TYPES[name.split('.').at(-1)!]! }
    this.#files.set(name, file)
    return file
  }
}
