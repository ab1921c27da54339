import type { ObservedRun } from '../sdk-run/observed-run.ts'

/** What the SDK hands to the model of a run: the signal of its caller, and its own for the `timeout` that it was given. */
const signals = new WeakMap<ObservedRun, AbortSignal>()

export function noteSignal(run: ObservedRun, signal: unknown): void {
  if (signal instanceof AbortSignal) signals.set(run, signal)
}

/** Whether the SDK has ended the run because the time was up that it was given: a failure of nobody's, as in a stream. */
export function isTimeUp(run: ObservedRun): boolean {
  const reason: unknown = signals.get(run)?.reason
  return (reason as { name?: unknown } | undefined)?.name === 'TimeoutError'
}
