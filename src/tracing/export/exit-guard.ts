import { within } from '../../internal/async.ts'
import { endBy, hearSignals, isHeardByOthers } from '../../internal/signals.ts'

/** What can end the operations that are still open. */
interface Interruptible {
  interruptAll(): void
}

const DEADLINE_MS = 3_000
/** Milliseconds within which a signal that comes again is the same: npm hands on what the terminal told all that it runs. */
const SAME_SIGNAL_MS = 500

export interface Ends {
  /** At a signal. */
  flush(): Promise<void>
  /** When the process has nothing left to do. */
  flushIdle(): Promise<void>
  /** Runs while the process exits, so nothing that it leaves to be done later is done. Who is in a hurry waits for nobody. */
  lastChance(options: { inHurry: boolean }): void
}

/**
 * Delivers what waits before the process ends. At a signal that ends it, and at `process.exit()` or an exception that
 * nobody catches, the operations that are open end as interrupted first, so that no trace lacks its root.
 */
export class ExitGuard {
  readonly #ends: Ends
  /** Weakly: a server may make a dispatcher for each request. One with open operations is held by what ends idle ones. */
  readonly #watched = new Set<WeakRef<Interruptible>>()
  readonly #seen = new WeakSet<Interruptible>()
  readonly #gone = new FinalizationRegistry<WeakRef<Interruptible>>((ref) => this.#watched.delete(ref))
  #flushing = false
  /** When the signal came that ends the process. */
  #endingSince: number | undefined
  #stopHearing: (() => void) | undefined

  constructor(ends: Ends) {
    this.#ends = ends
  }

  watch(dispatcher: Interruptible): void {
    if (this.#seen.has(dispatcher)) return
    const ref = new WeakRef(dispatcher)
    this.#seen.add(dispatcher)
    this.#watched.add(ref)
    this.#gone.register(dispatcher, ref)
  }

  install(): void {
    process.on('beforeExit', this.#onBeforeExit)
    process.on('exit', this.#onExit)
    this.#stopHearing = hearSignals(this.#onSignal)
  }

  remove(): void {
    process.off('beforeExit', this.#onBeforeExit)
    process.off('exit', this.#onExit)
    this.#stopHearing?.()
  }

  #interruptAll(): void {
    for (const ref of this.#watched) ref.deref()?.interruptAll()
  }

  /** Fires again after what it started is done; by then nothing waits any more. */
  readonly #onBeforeExit = (): void => {
    if (this.#flushing) return
    this.#flushing = true
    void flushWithin(this.#ends.flushIdle())
  }

  readonly #onExit = (): void => this.#atExit(false)

  #atExit(inHurry: boolean): void {
    try {
      this.#interruptAll()
      this.#ends.lastChance({ inHurry })
    } catch {
      // Losing spans must not become the reason for which a process fails.
    }
  }

  /** A process that a signal ends hears of no exit. */
  #end(signal: NodeJS.Signals, inHurry: boolean): void {
    // With no other handler the signal would have ended the process: let it, also one that comes while the last is sent.
    this.remove()
    this.#atExit(inHurry)
    endBy(signal)
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (this.#endingSince !== undefined) {
      // Who asks again does not want to wait for a collector.
      if (now - this.#endingSince > SAME_SIGNAL_MS) this.#end(signal, true)
      return
    }
    // Asked now: who hears this signal may be gone after the flush, in the middle of the shutdown it began.
    const heardByOthers = isHeardByOthers(signal)
    // Theirs to end, and who knows when: runs go on until then, and what they make is delivered at the exit.
    if (!heardByOthers) {
      this.#endingSince = now
      this.#interruptAll()
    }
    void flushWithin(this.#ends.flush()).then(() => {
      if (!heardByOthers) this.#end(signal, false)
    })
  }
}

async function flushWithin(flushed: Promise<void>): Promise<void> {
  await within(
    DEADLINE_MS,
    flushed.catch(() => {}),
  )
}
