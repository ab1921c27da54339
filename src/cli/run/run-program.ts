import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  GUARDED,
  HEARD,
  LOADED,
  NO_VIEWER,
  PASSED_ON,
  REFUSED,
  RUN_PID,
  RUN_REPORT,
  RUN_SEEN,
  UNTAKEN,
  UNTRACED,
  WORKER_ENDED,
  WORKER_RAN,
} from '../../internal/run-report.ts'
import { whenLeft } from '../until-stopped.ts'
import { Relay } from './relay.ts'
import { findViewer, type RunFlags, type ViewerInUse } from './viewer-in-use.ts'

const NOT_FOUND = 127
const NOT_RUN = 126
/** Runtimes that nothing can be preloaded into. */
const OTHERS = ['deno', 'python', 'python3']
const BUN = ['bun', 'bunx']
/** What a viewer ends by that was kept. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const

const REGISTER = new URL('../../register/index.js', import.meta.url).href

const notFound = (command: string) => `there is no command "${command}".`

const tell = (message: string) => process.stderr.write(`hookspan: ${message}\n`)

/**
 * Runs a program with `hookspan/register` in each Node process of it. Its input, output, exit code and signals are as
 * without us; what we say goes to stderr.
 *
 * @returns its exit code. Where a signal ended it, this process ends by the same one.
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: RunFlags,
): Promise<number> {
  if (command === '') {
    tell(notFound(command))
    return NOT_FOUND
  }
  const viewer = await findViewer(options)
  const name = basename(command).replace(/\.exe$/, '')
  if (OTHERS.includes(name)) tell(`${name} takes no NODE_OPTIONS: nothing of it is attached.`)
  if (BUN.includes(name) && /\s/.test(fileURLToPath(REGISTER))) {
    tell(`${name} takes no path with spaces (${fileURLToPath(REGISTER)}): nothing of it is attached.`)
  }
  const report = reportFile()
  try {
    const child = spawn(command, args, { stdio: 'inherit', env: environment(viewer, report) })
    const end = ended(child, command, report)
    const { now, later } = await viewer.start()
    tell(now)
    if (later === '' && report !== undefined) appendFileSync(report, `${NO_VIEWER}\n`)
    const { hasStarted, code, signal } = await end
    if (hasStarted && report !== undefined) tellEnd(later, report)
    else if (hasStarted && later !== '') tell(later)
    if (options.keep && viewer.isOurs) await untilInterrupted()
    await viewer.close()
    if (signal !== null) return await endBy(signal)
    return code
  } finally {
    await viewer.close()
    if (report !== undefined) rmSync(dirname(report), { recursive: true, force: true })
  }
}

/** Where its processes write what they attached. A program that needs no such folder runs without one, as it would alone. */
function reportFile(): string | undefined {
  try {
    return join(mkdtempSync(join(tmpdir(), 'hookspan-run-')), 'attached')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    tell(
      `what is attached will not be told, as there is no temporary folder (${why}); the program runs all the same`,
    )
    return undefined
  }
}

function environment(viewer: ViewerInUse, report: string | undefined): NodeJS.ProcessEnv {
  const { NODE_OPTIONS, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: capture } = process.env
  return {
    ...process.env,
    // First, as one of the others may load an SDK.
    NODE_OPTIONS: [`--import=${REGISTER}`, NODE_OPTIONS].filter(Boolean).join(' '),
    BUN_OPTIONS: bunOptions(),
    [RUN_REPORT]: report,
    // A shell's job control is for who has the terminal.
    [RUN_PID]: process.stdin.isTTY ? String(process.pid) : undefined,
    ...(viewer.link !== undefined && { HOOKSPAN_RUN_VIEWER: viewer.link }),
    ...(viewer.show !== undefined && { HOOKSPAN_RUN_SHOW: viewer.show }),
    // What is said stays on this machine.
    ...(viewer.isOurs &&
      capture === undefined && { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }),
    ...(viewer.endpoint !== undefined && { OTEL_EXPORTER_OTLP_ENDPOINT: viewer.endpoint }),
  }
}

/** For Bun, which splits them at spaces, and knows no quotes. */
function bunOptions(): string | undefined {
  const path = fileURLToPath(REGISTER)
  const { BUN_OPTIONS } = process.env
  return /\s/.test(path) ? BUN_OPTIONS : [BUN_OPTIONS, `--preload=${path}`].filter(Boolean).join(' ')
}

interface Ended {
  /** Not where there is no such program, or it may not be run. */
  readonly hasStarted: boolean
  readonly code: number
  readonly signal: NodeJS.Signals | null
}

function ended(child: ChildProcess, command: string, report: string | undefined): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const relay = new Relay(child, report)
  // A terminal sends Ctrl-C to the program, too; then this only waits for it.
  const passOn = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) relay.pass(signal)
  }
  for (const signal of PASSED_ON) process.on(signal, passOn)
  const stopLooking = whenLeft(() => relay.pass('SIGTERM'))
  child.once('error', (error: NodeJS.ErrnoException) => {
    const missing = error.code === 'ENOENT'
    tell(missing ? notFound(command) : `"${command}" cannot be run: ${error.message}`)
    resolve({ hasStarted: false, code: missing ? NOT_FOUND : NOT_RUN, signal: null })
  })
  child.once('exit', (code, signal) => resolve({ hasStarted: true, code: code ?? 0, signal }))
  return promise.finally(() => {
    stopLooking()
    for (const signal of PASSED_ON) process.off(signal, passOn)
  })
}

function tellEnd(where: string, report: string): void {
  const lines = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : []
  const reported = new Set(lines.filter((line) => !line.startsWith(HEARD)))
  const isUntraced = reported.delete(UNTRACED)
  const isUntaken = reported.delete(UNTAKEN)
  const isGuarded = reported.delete(GUARDED)
  const hasRun = reported.delete(RUN_SEEN)
  reported.delete(NO_VIEWER)
  const isCut = cutOff(reported)
  // The last word is that of the process, which says why.
  if (reported.delete(REFUSED) && reported.size === 0) return
  if (!reported.delete(LOADED)) {
    tell(
      'no process of it said what was attached: it is no Node program, sets NODE_OPTIONS or the environment anew, or runs ' +
        `under --permission, which has to let it read ${dirname(dirname(fileURLToPath(REGISTER)))}; one that may write ` +
        'nothing has said it above.',
    )
    return
  }
  const held = isGuarded ? ' No gate and no mock of hookspan.config.* held.' : ''
  if (reported.size === 0) {
    tell(
      `nothing was attached: the program loaded no SDK of a version that hookspan knows, or has it bundled inside.${held}`,
    )
    return
  }
  const names = [...reported].join(', ')
  // A framework that asks its models by itself may bring an SDK that it has no use for.
  if (!hasRun) tell(`attached ${names}, and saw no run.${held}`)
  else {
    const instead = isUntraced ? 'Not all of it could be traced.' : isUntaken && 'Not all spans were taken.'
    tell(`attached ${names}. ${instead || where}`)
  }
  if (isCut) tell('a worker thread was ended from outside: what it had not sent by then is lost.')
}

/** Whether a worker thread that had runs did not end by itself. Takes out what is said of threads. */
function cutOff(reported: Set<string>): boolean {
  const threads = [...reported].filter((one) => one.startsWith(WORKER_RAN))
  let isCut = false
  for (const ran of threads) {
    reported.delete(ran)
    if (!reported.delete(ran.replace(WORKER_RAN, WORKER_ENDED))) isCut = true
  }
  return isCut
}

function untilInterrupted(): Promise<void> {
  tell('the viewer stays open; Ctrl-C ends it.')
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const signal of ENDING) process.once(signal, () => resolve())
  const stopLooking = whenLeft(resolve)
  return promise.finally(stopLooking)
}

/** As a shell sees it that started the program itself. */
async function endBy(signal: NodeJS.Signals): Promise<number> {
  process.kill(process.pid, signal)
  // Not every signal ends a process at once, and Windows has none to send.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  return 128 + (constants.signals[signal] ?? 0)
}
