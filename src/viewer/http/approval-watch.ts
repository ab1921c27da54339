import type { ApprovalDesk } from './approvals.ts'
import type { Live } from './live.ts'

/** A store that other processes write cannot tell. */
const EVERY_MS = 400

/** Tells open pages that other requests wait now than before. */
export class ApprovalWatch {
  readonly #desk: ApprovalDesk
  readonly #live: Live
  #timer: NodeJS.Timeout | undefined
  #seen = ''

  constructor(desk: ApprovalDesk, live: Live) {
    this.#desk = desk
    this.#live = live
  }

  start(): void {
    if (!this.#desk.connected) return
    this.#timer = setInterval(() => this.#live.watched && void this.look(), EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** How many requests wait; 0 where they cannot be read. */
  async count(): Promise<number> {
    return (await this.#desk.waiting().catch(() => [])).length
  }

  async look(): Promise<void> {
    // A request that came before its run is told again once the run is here.
    const now = await this.#desk.waiting().then(
      (requests) => requests.map(({ id, traceId }) => `${id} ${traceId}`).join('\n'),
      (error: Error) => `unreadable: ${error.message}`,
    )
    if (now === this.#seen) return
    this.#seen = now
    this.#live.tell({ type: 'approvals' })
  }
}
