import { isMainThread } from 'node:worker_threads'
import { HEARD, PASSED_ON, RUN_PID, RUN_REPORT } from '../internal/run-report.ts'
import { report } from './report.ts'

const SIGNALS: readonly unknown[] = PASSED_ON

/**
 * For `hookspan run`, which passes on what it hears, and would end a program in the middle of its shutdown that has had the
 * signal already. A listener would count as one, and keep the process from ending by the signal: what listeners are told is read.
 */
export function noteHeardSignals(): void {
  if (process.env[RUN_REPORT] === undefined || !isMainThread) return
  const emit = process.emit as (...all: unknown[]) => boolean
  process.emit = function (this: NodeJS.Process, ...all: unknown[]) {
    const [name, signal] = all
    if (name === signal && SIGNALS.includes(name)) report(`${HEARD}${name} ${process.pid} ${Date.now()}`)
    return Reflect.apply(emit, this, all)
  } as typeof process.emit
}

/**
 * A program that reads the keys of its terminal itself, as with `node:readline`, stops itself at Ctrl-Z, and nobody else: the
 * shell would go on waiting for `hookspan run`.
 */
export function stopWithRun(): void {
  const run = Number(process.env[RUN_PID])
  if (!run || !isMainThread) return
  const kill = process.kill
  process.kill = (pid, signal) => {
    if (signal === 'SIGTSTP' && pid === process.pid && run === process.ppid) kill.call(process, run, signal)
    return kill.call(process, pid, signal)
  }
}
