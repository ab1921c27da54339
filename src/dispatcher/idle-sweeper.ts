import type { OperationRecord } from './operation-record.ts'

/** Finds operations in which nothing happened for `idleTimeoutMs`, their descendants included. */
export class IdleSweeper {
  readonly #idleTimeoutMs: number
  readonly #records: ReadonlyMap<string, OperationRecord>
  readonly #abandon: (record: OperationRecord) => void
  #timer: NodeJS.Timeout | undefined

  constructor(
    idleTimeoutMs: number,
    records: ReadonlyMap<string, OperationRecord>,
    abandon: (record: OperationRecord) => void,
  ) {
    this.#idleTimeoutMs = idleTimeoutMs
    this.#records = records
    this.#abandon = abandon
  }

  /** Runs while there are operations; the timer never keeps the process alive. */
  wake(): void {
    if (this.#timer !== undefined || this.#idleTimeoutMs === Number.POSITIVE_INFINITY) return
    const intervalMs = Math.min(Math.max(this.#idleTimeoutMs / 4, 5), 60_000)
    this.#timer = setInterval(() => this.#sweep(), intervalMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #sweep(): void {
    const now = Date.now()
    for (const record of this.#records.values()) {
      if (!record.active) continue
      record.active = false
      this.#touchWithAncestors(record, now)
    }
    for (const record of [...this.#records.values()]) {
      if (now - record.lastActiveAt >= this.#idleTimeoutMs) this.#abandon(record)
    }
    if (this.#records.size === 0) this.stop()
  }

  #touchWithAncestors(record: OperationRecord, now: number): void {
    let current: OperationRecord | undefined = record
    while (current !== undefined && current.lastActiveAt !== now) {
      current.lastActiveAt = now
      const parentId: string | undefined = current.info.parentOperationId
      current = parentId === undefined ? undefined : this.#records.get(parentId)
    }
  }
}
