import { errorMessage, HookspanError, type HookspanErrorCode } from '../internal/errors.ts'
import { visibleText } from '../viewer/model/format.ts'
import { missingApi } from './install-line.ts'
import { terminalOf } from './render/terminal.ts'

export const EXIT = { done: 0, failed: 1, usage: 2 } as const

/** Something was asked for that cannot be done as it was asked. The message names the value and the mend. */
export class UsageError extends HookspanError {
  override readonly name: string = 'UsageError'

  constructor(message: string, options?: ErrorOptions) {
    super('INVALID_OPTION', message, options)
  }
}

/** What is wrong with what was given, rather than with what was done. */
const WRONG_USAGE: ReadonlySet<HookspanErrorCode> = new Set([
  'INVALID_OPTION',
  'INVALID_RECORDING',
  'INVALID_CONFIG',
  'MISSING_DEPENDENCY',
])

/** Says on stderr what went wrong, and gives the exit code for it. */
export function reportFailure(error: unknown, { debug }: { debug: boolean }): number {
  const terminal = terminalOf(process.stderr)
  const missing = missingApi(error)
  const code =
    missing !== undefined ? 'MISSING_DEPENDENCY' : error instanceof HookspanError ? error.code : undefined
  terminal.line(`${terminal.style('red', 'hookspan:')} ${visibleText(missing ?? errorMessage(error))}`)
  if (debug) terminal.line(visibleText(stackOf(error)))
  else if (code === undefined) terminal.line('Run again with --debug for the stack.')
  return code !== undefined && WRONG_USAGE.has(code) ? EXIT.usage : EXIT.failed
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : `\nCaused by: ${stackOf(error.cause)}`
  return `${error.stack ?? error.message}${cause}`
}
