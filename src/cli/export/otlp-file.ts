import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../../internal/make-folder.ts'
import { writeWhole } from '../../internal/write-whole.ts'
import { cannotWrite } from './written-file.ts'

/** A file of OTLP/JSON: one request a line, which is one trace a line here. A file of one trace is plain JSON. */
export class OtlpFile {
  readonly path: string
  readonly #descriptor: number

  /** @throws UsageError when the file cannot be written. */
  constructor(path: string) {
    this.path = path
    try {
      makeFolder(dirname(path))
      this.#descriptor = openSync(path, 'w')
    } catch (error) {
      throw cannotWrite(path, error)
    }
  }

  add(request: string): void {
    writeWhole(this.#descriptor, `${request}\n`)
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
