import { runProgram } from './run-program.ts'
import type { RunFlags } from './viewer-in-use.ts'

/**
 * `hookspan run` as it is mostly written, without the command line's parser, which takes longer to load than all that is
 * needed to start a program.
 *
 * @returns undefined where anything is given that is not known here.
 */
export function plainRun(args: readonly string[]): (() => Promise<number>) | undefined {
  const flags: RunFlags = {}
  let at = 1
  for (; at < args.length; at++) {
    const arg = args[at]
    if (arg === '--keep') flags.keep = true
    else if (arg === '--db' && !args[at + 1]?.startsWith('-')) flags.db = args[++at] ?? ''
    else break
  }
  const isMarked = args[at] === '--'
  const [command, ...rest] = args.slice(isMarked ? at + 1 : at)
  if (!command || flags.db === '' || (!isMarked && command.startsWith('-'))) return undefined
  return () =>
    runProgram(command, rest, flags).catch(async (error: unknown) => {
      const { reportFailure } = await import('../failure.ts')
      return reportFailure(error, { debug: false })
    })
}
