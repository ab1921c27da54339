import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const FILE = 'set-aside.ndjson'
const MAX_BYTES = 16 * 1024 * 1024

/**
 * Where records go that can be delivered to nobody: unreadable, or refused by the collector for good. One JSON object a
 * line: when, why, and the record, as the JSON of its request. A human may look there, and delete it.
 */
export class SetAside {
  readonly path: string
  #count = 0

  constructor(folder: string) {
    this.path = join(folder, FILE)
  }

  /** Since the start of this process. */
  get count(): number {
    return this.#count
  }

  /** What is no record of ours, in base64. */
  addUnreadable(bytes: Buffer): void {
    this.add('unreadable', bytes.toString('base64'))
  }

  add(why: string, record: string): void {
    this.#count++
    try {
      const there = statSync(this.path, { throwIfNoEntry: false })
      // Whoever opens a pipe waits until somebody reads.
      if (there !== undefined && (!there.isFile() || there.size > MAX_BYTES)) return
      const line = JSON.stringify({ at: new Date().toISOString(), why, record })
      appendFileSync(this.path, `${line}\n`, { mode: 0o600 })
    } catch {
      // Counted; there is no room to keep it.
    }
  }
}
