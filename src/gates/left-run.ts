import { HookspanError } from '../internal/errors.ts'

const MESSAGE = 'Another process goes on with the run.'

/** Why what this process does of a run is aborted, where another one goes on with it: what it has asked is asked still. */
export function leftRun(): DOMException {
  const cause = new HookspanError('STATE_CLAIMED', MESSAGE)
  return Object.assign(new DOMException(MESSAGE, 'AbortError'), { cause })
}

export function isLeftRun(reason: unknown): boolean {
  if (!(reason instanceof DOMException)) return false
  return reason.cause instanceof HookspanError && reason.cause.code === 'STATE_CLAIMED'
}
