/** Listening to the signals that end a process, so that they still do. */
import { constants } from 'node:os'

/** SIGHUP: the terminal is closed. SIGUSR2: nodemon restarts. SIGBREAK: Ctrl-Break, on Windows. */
const SIGNALS = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  process.platform === 'win32' ? 'SIGBREAK' : 'SIGUSR2',
] as const

/** Of all copies of this package: how many of their listeners there are. */
const OWN = Symbol.for('hookspan:signal-listeners')

type Counted = typeof globalThis & { [OWN]?: number }

/** How many of our own hear of signals: the last of them ends the process. */
export function ownListeners(): number {
  return (globalThis as Counted)[OWN] ?? 0
}

function countOwn(change: 1 | -1): void {
  Object.assign(globalThis, { [OWN]: ownListeners() + change })
}

/** Hears of the signals that would end the process, before all others do. Gives how to stop. */
export function hearSignals(listener: (signal: NodeJS.Signals) => void): () => void {
  countOwn(1)
  // First in the list: a `once` listener that ran before ours would not be counted any more.
  for (const signal of SIGNALS) process.prependListener(signal, listener)
  let hearing = true
  return () => {
    if (!hearing) return
    hearing = false
    countOwn(-1)
    for (const signal of SIGNALS) process.off(signal, listener)
  }
}

/** Whether it is for somebody else to end the process, or for nobody. */
export function isHeardByOthers(signal: NodeJS.Signals): boolean {
  // The first process of a container: the system drops what would end it and is heard by nobody.
  if (process.pid === 1 && !isEndedByAgents(signal)) return true
  return process.listenerCount(signal) - ownListeners() > politeListeners(signal)
}

/** As the signal would have, without handlers. Windows can send itself no SIGBREAK and no SIGHUP, process 1 none at all. */
export function endBy(signal: NodeJS.Signals): void {
  try {
    if (process.pid !== 1) return void process.kill(process.pid, signal)
  } catch {
    // As the system tells it.
  }
  process.exit(128 + (constants.signals[signal] ?? 0))
}

/**
 * How many listeners of a signal end the process only where nobody else listens, like ours: each would leave it to the
 * other, and Ctrl-C would do nothing.
 */
function politeListeners(signal: NodeJS.Signals): number {
  return signalExits() + (isEndedByAgents(signal) ? 1 : 0)
}

function isEndedByAgents(signal: NodeJS.Signals): boolean {
  return isOpenAIAgentsHere() && (signal === 'SIGINT' || signal === 'SIGTERM')
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
