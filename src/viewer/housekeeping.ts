/** What happens between requests: sums, the search index, dead runs, retention. */

import type { Live } from './http/live.ts'
import { notStored } from './model/format.ts'
import type { InTurns } from './model/in-turns.ts'
import type { Store } from './store/store.ts'
import { Abandoned, takeTurns } from './turns.ts'

/** At a time; then it is looked whether spans came meanwhile, which go first. */
const WORK_MS = 25
/** Between two times while somebody looks. Otherwise it rests for some times as long as it worked: a quarter of a core at most. */
const REST_MS = 5
const RESTS = 4
/** The same while somebody waits for a search, which looks through by itself what is not indexed. */
const SEARCHED_MS = 100
/** Who looked lately may go on to search. */
const LOOKED_MS = 600_000
/** What another viewer of the file takes in is shown so soon. */
const ELSEWHERE_MS = 500
/** When nothing came for so long, the file is put in order. */
const SETTLE_MS = 3_000

export class Housekeeping {
  readonly #store: Store
  readonly #live: Live
  readonly #notice: (message: string) => void
  #slice: NodeJS.Timeout | undefined
  #timers: NodeJS.Timeout[] = []
  #settle: NodeJS.Timeout | undefined
  #workedAt = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #stopped = false
  /** What goes on; each task waits for its own last round. */
  readonly #running = new Map<string, Promise<void>>()
  storageError = ''

  constructor(store: Store, live: Live, notice: (message: string) => void) {
    this.#store = store
    this.#live = live
    this.#notice = notice
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.#do('recheck', () => this.#recheck()), 2_000),
      setInterval(() => this.#lookElsewhere(), ELSEWHERE_MS),
      setInterval(() => this.#do('sweep', () => this.#sweep()), 60_000),
    ]
    this.#settle = setTimeout(() => this.#do('settle', () => this.#settling()), SETTLE_MS)
    this.#timers.push(this.#settle)
    for (const timer of this.#timers) timer.unref()
    this.#later(50)
  }

  /** When it is done, nothing touches the store any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#slice)
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#running.values())
  }

  /** Somebody asked for what is stored: it is made ready, also to be searched. */
  looked(): void {
    const wasLooked = this.#isLooked
    this.#lookedAt = performance.now()
    if (!wasLooked) this.#later(0)
  }

  changed(traceIds: Set<string>): void {
    this.#live.changed(traceIds)
    if (traceIds.size === 0) return
    // Pushed back while spans keep coming, since taking them in goes first; but not for ever.
    if (performance.now() - this.#workedAt < 2_000) this.#later(400)
    else if (!this.#slice) this.#later(0)
  }

  storage(error: Error | undefined): void {
    const message = error?.message ?? ''
    if (message === this.storageError) return
    this.storageError = message
    this.#notice(message ? notStored(message) : 'Spans are stored again.')
    this.#live.tell({ type: 'storage', error: message })
  }

  #later(ms: number): void {
    if (this.#stopped) return
    clearTimeout(this.#slice)
    this.#slice = setTimeout(() => {
      this.#slice = undefined
      if (this.#running.has('work')) this.#later(WORK_MS)
      else this.#do('work', () => this.#work())
    }, ms)
    this.#slice.unref()
  }

  *#work(): InTurns<void> {
    const before = process.cpuUsage()
    const more = yield* this.#store.working(WORK_MS, this.#isLooked)
    this.#workedAt = performance.now()
    this.#live.changed(this.#store.takeCaughtUp())
    // By CPU time: on a busy machine most of the time that goes by is others'.
    const { user, system } = process.cpuUsage(before)
    if (more && this.#store.isSearched) this.#later(SEARCHED_MS)
    else if (more) this.#later(this.#isLooked ? REST_MS : Math.max(REST_MS, ((user + system) / 1000) * RESTS))
    else if (!this.#stopped) this.#settle?.refresh()
  }

  #lookElsewhere(): void {
    if (this.#live.watched && this.#store.changedElsewhere()) this.#live.changedElsewhere()
  }

  *#settling(): InTurns<void> {
    yield
    this.#store.settle()
  }

  get #isLooked(): boolean {
    return this.#live.watched || performance.now() - this.#lookedAt < LOOKED_MS
  }

  *#sweep(): InTurns<void> {
    // Not which: a page that shows one asks for it.
    if ((yield* this.#store.sweeping()) > 0) this.#live.changedElsewhere()
  }

  *#recheck(): InTurns<void> {
    this.#live.changed(yield* this.#store.recheckingOpenRuns())
  }

  /** Not while the same is still going on. */
  #do(name: string, work: () => InTurns<unknown>): void {
    if (this.#running.has(name)) return
    const done = takeTurns(work(), () => !this.#stopped, true)
      .catch((error: Error) => {
        if (!(error instanceof Abandoned)) this.storage(error)
      })
      .then(() => void this.#running.delete(name))
    this.#running.set(name, done)
  }
}
