import type { WaitingRequest } from '../model/approval.ts'
import type { AskedInRun } from '../model/span.ts'
import type { Store } from '../store/store.ts'
import type { PageApprovals } from './approvals.ts'
import type { Live } from './live.ts'

/** A store that other processes write cannot tell. */
const EVERY_MS = 400

/** Tells open pages that other requests wait now than before, and the store which runs do. */
export class ApprovalWatch {
  readonly #desk: PageApprovals
  readonly #live: Live
  readonly #store: Store
  #timer: NodeJS.Timeout | undefined
  #seen = ''
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(desk: PageApprovals, live: Live, store: Store) {
    this.#desk = desk
    this.#live = live
    this.#store = store
  }

  start(): void {
    if (!this.#desk.connected) return
    this.#timer = setInterval(() => this.#live.isOpen && void this.look(), EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** How many requests wait; 0 where they cannot be read. */
  async count(): Promise<number> {
    return (await this.#desk.waiting().catch(() => [])).length
  }

  /** For who asks while no page is open: looks, unless that was done a moment ago. */
  async refresh(): Promise<void> {
    if (this.#desk.connected && performance.now() - this.#lookedAtMs > EVERY_MS) await this.look()
  }

  async look(): Promise<void> {
    this.#lookedAtMs = performance.now()
    // A request that came before its run is told again once the run is here.
    const now = await this.#desk.waiting().then(
      (requests) => {
        this.#tellStore(requests)
        return requests.map(({ id, traceId }) => `${id} ${traceId}`).join('\n')
      },
      (error: Error) => `unreadable: ${error.message}`,
    )
    if (now === this.#seen) return
    this.#seen = now
    this.#live.tell({ type: 'approvals' })
  }

  #tellStore(requests: readonly WaitingRequest[]): void {
    const asked = new Map<string, AskedInRun>()
    for (const { traceId, agentName } of requests) {
      const before = asked.get(traceId)
      asked.set(traceId, { open: (before?.open ?? 0) + 1, agentName: before?.agentName ?? agentName })
    }
    try {
      this.#live.changed(this.#store.tellAsked(asked))
    } catch {
      // Nothing can be stored, which is told by who stores; it is tried again at the next look.
    }
  }
}
