import { constants } from 'node:os'
import { within } from '../../internal/async.ts'

/** What can end the operations that are still open. */
interface Interruptible {
  interruptAll(): void
}

/** SIGHUP: the terminal is closed. SIGBREAK: Ctrl-Break, on Windows. */
const SIGNALS = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  ...(process.platform === 'win32' ? (['SIGBREAK'] as const) : []),
] as const
const DEADLINE_MS = 3_000

export interface Ends {
  /** At a signal. */
  flush(): Promise<void>
  /** When the process has nothing left to do. */
  flushIdle(): Promise<void>
  /** Runs while the process exits, so nothing that it leaves to be done later is done. */
  lastChance(): void
}

/**
 * Delivers what waits before the process ends. At a signal that ends it, and at `process.exit()` or an exception that
 * nobody catches, the operations that are open end as interrupted first, so that no trace lacks its root.
 */
export class ExitGuard {
  readonly #ends: Ends
  readonly #watched = new Set<Interruptible>()
  #flushing = false
  #installed = false

  constructor(ends: Ends) {
    this.#ends = ends
  }

  watch(dispatcher: Interruptible): void {
    this.#watched.add(dispatcher)
  }

  install(): void {
    this.#installed = true
    process.on('beforeExit', this.#onBeforeExit)
    process.on('exit', this.#onExit)
    // First in the list: a `once` listener that ran before ours would not be counted any more.
    for (const signal of SIGNALS) process.prependListener(signal, this.#onSignal)
  }

  remove(): void {
    if (!this.#installed) return
    this.#installed = false
    process.off('beforeExit', this.#onBeforeExit)
    process.off('exit', this.#onExit)
    for (const signal of SIGNALS) process.off(signal, this.#onSignal)
  }

  #interruptAll(): void {
    for (const dispatcher of this.#watched) dispatcher.interruptAll()
  }

  /** Fires again after what it started is done; by then nothing waits any more. */
  readonly #onBeforeExit = (): void => {
    if (this.#flushing) return
    this.#flushing = true
    void flushWithin(this.#ends.flushIdle())
  }

  readonly #onExit = (): void => {
    try {
      this.#interruptAll()
      this.#ends.lastChance()
    } catch {
      // Losing spans must not become the reason for which a process fails.
    }
  }

  /** A process that a signal ends hears of no exit. */
  #end(signal: NodeJS.Signals): void {
    this.#onExit()
    // With no other handler the signal would have ended the process: let it.
    this.remove()
    endBy(signal)
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    // Asked now: who hears this signal may be gone after the flush, in the middle of the shutdown it began.
    const heardByOthers = process.listenerCount(signal) - 1 > politeListeners(signal)
    // Theirs to end, and who knows when: runs go on until then, and what they make is delivered at the exit.
    if (!heardByOthers) this.#interruptAll()
    void flushWithin(this.#ends.flush()).then(() => {
      if (!heardByOthers) this.#end(signal)
    })
  }
}

async function flushWithin(flushed: Promise<void>): Promise<void> {
  await within(
    DEADLINE_MS,
    flushed.catch(() => {}),
  )
}

/** As the signal would have, without handlers. Windows can send itself no SIGBREAK and no SIGHUP. */
function endBy(signal: NodeJS.Signals): void {
  try {
    process.kill(process.pid, signal)
  } catch {
    process.exit(128 + (constants.signals[signal] ?? 0))
  }
}

/**
 * How many listeners of a signal end the process only where nobody else listens, like ours: each would leave it to the
 * other, and Ctrl-C would do nothing.
 */
function politeListeners(signal: NodeJS.Signals): number {
  const byAgents = isOpenAIAgentsHere() && (signal === 'SIGINT' || signal === 'SIGTERM')
  return signalExits() + (byAgents ? 1 : 0)
}

interface GuardCount {
  readonly count?: unknown
}

/** `signal-exit`, which packages for terminals bring along, tells its other versions by these names how many there are. */
function signalExits(): number {
  const places = [
    (globalThis as Record<symbol, unknown>)[Symbol.for('signal-exit emitter')],
    (process as { __signal_exit_emitter__?: unknown }).__signal_exit_emitter__,
  ] as (GuardCount | undefined)[]
  return places.reduce((sum, place) => sum + (typeof place?.count === 'number' ? place.count : 0), 0)
}

/** All copies of the Agents SDK share the provider that it traces with, which listens once it has been asked for. */
function isOpenAIAgentsHere(): boolean {
  return (globalThis as Record<symbol, unknown>)[Symbol.for('openai.agents.core.traceProvider')] !== undefined
}
