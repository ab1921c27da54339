import { unref } from '../../internal/async.ts'
import type { OperationRecord } from './operation-record.ts'

/**
 * Finds operations in which nothing happened for `idleTimeoutMs`, their descendants included. Counts the time in
 * which it ran itself: a laptop that slept, or a frozen serverless process, leaves no operation abandoned.
 */
export class IdleSweeper {
  readonly #idleTimeoutMs: number
  readonly #intervalMs: number
  readonly #records: ReadonlyMap<string, OperationRecord>
  readonly #abandon: (record: OperationRecord) => void
  #timer: NodeJS.Timeout | undefined

  constructor(
    idleTimeoutMs: number,
    records: ReadonlyMap<string, OperationRecord>,
    abandon: (record: OperationRecord) => void,
  ) {
    this.#idleTimeoutMs = idleTimeoutMs
    this.#intervalMs = Math.min(Math.max(idleTimeoutMs / 4, 5), 60_000)
    this.#records = records
    this.#abandon = abandon
  }

  /**
   * Runs while there are operations; the timer never keeps the process alive. It keeps the dispatcher, though it may never
   * end one: tracing ends what is open at the exit, and does not hold the dispatcher by itself.
   */
  wake(): void {
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#sweep(), this.#intervalMs)
    unref(this.#timer)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #sweep(): void {
    for (const record of this.#records.values()) record.idleMs += this.#intervalMs
    for (const record of this.#records.values()) {
      if (!record.active && record.questions?.awaited !== true) continue
      record.active = false
      this.#touchWithAncestors(record)
    }
    for (const record of [...this.#records.values()]) {
      if (record.idleMs >= this.#idleTimeoutMs) this.#abandon(record)
    }
    if (this.#records.size === 0) this.stop()
  }

  #touchWithAncestors(record: OperationRecord): void {
    let current: OperationRecord | undefined = record
    while (current !== undefined && current.idleMs > 0) {
      current.idleMs = 0
      const parentId: string | undefined = current.info.parentOperationId
      current = parentId === undefined ? undefined : this.#records.get(parentId)
    }
  }
}
