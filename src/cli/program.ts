import { Command, CommanderError } from 'commander'
import { packageVersion } from '../internal/package-version.ts'
import { misspelt, OWN_VARIABLES } from '../internal/variables.ts'
import { findInstalled } from '../internal/version-range.ts'
import { visibleText } from '../viewer/model/format.ts'
import { registerApprovals } from './commands/approvals.ts'
import { registerCompletion } from './commands/completion.ts'
import { registerDemo } from './commands/demo.ts'
import { registerDiff } from './commands/diff.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerExport } from './commands/export.ts'
import { registerHooks } from './commands/hooks.ts'
import { registerInit } from './commands/init.ts'
import { registerJaeger } from './commands/jaeger.ts'
import { registerMcp } from './commands/mcp.ts'
import { registerMocks } from './commands/mocks.ts'
import { registerReplay } from './commands/replay.ts'
import { registerReplayCall } from './commands/replay-call.ts'
import { registerResume } from './commands/resume.ts'
import { registerRun } from './commands/run.ts'
import { registerRuns } from './commands/runs.ts'
import { registerShow } from './commands/show.ts'
import { registerTail } from './commands/tail.ts'
import { registerView } from './commands/view.ts'
import { EXIT, reportFailure } from './failure.ts'
import { SDKS } from './peers.ts'

/** In the order of the help text. */
const REGISTER = [
  registerDemo,
  registerInit,
  registerRun,
  registerView,
  registerJaeger,
  registerRuns,
  registerShow,
  registerDiff,
  registerTail,
  registerExport,
  registerMcp,
  registerReplay,
  registerReplayCall,
  registerResume,
  registerMocks,
  registerHooks,
  registerApprovals,
  registerDoctor,
  registerCompletion,
]

/** Of variables: as findings, and by the program that is run. */
const TELL_IT_THEMSELVES = new Set(['doctor', 'run'])

/** The whole command line. Each command loads its own work only when it runs. */
export function createProgram(): Command {
  const program = new Command('hookspan')
    .description('see, test and control the lifecycle of LLM agents')
    .version(versions(), '-V, --version', 'print the version, and those of Node and the SDK that it found')
    .option('--debug', 'show the stack of an error')
    .showHelpAfterError('Run with --help for what can be given.')
    .exitOverride()
    .configureOutput({ writeErr: (text) => void process.stderr.write(visibleText(text)) })
    // `run` takes the options behind its command as they are.
    .enablePositionalOptions()
  for (const register of REGISTER) register(program)
  for (const command of program.commands) command.option('--debug', 'show the stack of an error')
  program.hook('preAction', (_, command) => {
    if (TELL_IT_THEMSELVES.has(command.name())) return
    for (const says of misspelt(OWN_VARIABLES)) process.stderr.write(`${visibleText(says)}\n`)
  })
  return program
}

/** What a report of a fault should say first. */
function versions(): string {
  const found = SDKS.map((name) => [name, findInstalled(name, import.meta.url)?.version]).find(
    ([, version]) => version,
  )
  return `${packageVersion()}\nNode ${process.versions.node}, ${found?.join(' ') ?? 'no OpenTelemetry SDK'}`
}

/** Runs the command line and gives the exit code: 0 done, 1 a failed run, 2 wrong usage. Never throws. */
export async function main(args: readonly string[]): Promise<number> {
  const program = createProgram()
  try {
    if (args.length === 0) {
      program.outputHelp()
      return EXIT.done
    }
    await program.parseAsync([...args], { from: 'user' })
    return Number(process.exitCode ?? EXIT.done)
  } catch (error) {
    // Commander has said it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    return reportFailure(error, { debug: args.includes('--debug') })
  }
}
