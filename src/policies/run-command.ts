import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { GateFailure } from '../gates/index.ts'
import { endBy, hearSignals, isHeardByOthers, ownListeners } from '../internal/signals.ts'

export interface CommandOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stdin: string
  /** Kills the command's whole process group. */
  readonly signal: AbortSignal
  /** Bytes of standard output that are read at most. */
  readonly maxOutputBytes: number
}

/** Milliseconds without a word, of a command that has ended, until what holds its output is not waited for. */
const SILENCE_MS = 200

/** Groups that run, so that none outlives this process when it ends by itself. */
const running = new Set<ChildProcess>()
let watching = false
/** Only while something runs: a program that counts who listens sees us no longer than that. */
let stopHearing: (() => void) | undefined

/**
 * Runs a command without a shell, in a process group of its own, and gives what it wrote to standard output.
 *
 * @throws GateFailure in one line: not found, not executable, exit code, killed, too much output.
 */
export function runCommand(options: CommandOptions): Promise<Buffer> {
  const { command, args, env, cwd, signal, maxOutputBytes } = options
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const fail = (message: string) => reject(new GateFailure('gate_error', message))
  if (signal.aborted) {
    fail('it was aborted before it started')
    return promise
  }
  let child: ChildProcess
  try {
    child = spawn(command, [...args], { cwd, env: { ...env }, detached: true, shell: false, stdio: 'pipe' })
  } catch (error) {
    fail(notStarted(command, cwd, error as NodeJS.ErrnoException))
    return promise
  }
  watch(child)
  const output: Buffer[] = []
  let bytes = 0
  let complaint = ''
  let silence: NodeJS.Timeout | undefined
  const closePipes = () => {
    for (const pipe of child.stdio) pipe?.destroy()
  }
  const onAbort = () => {
    killGroup(child)
    // What left the group holds the pipes, and would keep this process alive as long as it runs.
    closePipes()
  }
  /** What left the group holds them, too, once the command has answered: its answer counts. Without one, that may give it. */
  const letGo = () => {
    clearTimeout(silence)
    if (child.exitCode === null || bytes === 0) return
    // What is in the pipes is read first, also where this process stood still.
    silence = setTimeout(() => setImmediate(closePipes), SILENCE_MS)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  child.on('error', (error: NodeJS.ErrnoException) => fail(notStarted(command, cwd, error)))
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    letGo()
    if (bytes <= maxOutputBytes) return void output.push(chunk)
    fail(`it wrote more than ${maxOutputBytes} bytes to standard output`)
    killGroup(child)
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    if (complaint.length < 2_000) complaint += chunk.toString()
  })
  // A command need not read what it is told: its exit code and its answer say whether that was well.
  child.stdin?.on('error', () => {})
  child.on('exit', () => {
    // What it left running would keep the pipes open: whatever belongs to the command ends with it.
    killGroup(child)
    letGo()
  })
  child.on('close', (code, killedBy) => {
    clearTimeout(silence)
    forget(child)
    signal.removeEventListener('abort', onAbort)
    if (killedBy !== null) fail(`it was killed by ${killedBy}`)
    else if (code !== 0) fail(`it ended with exit code ${code}${said(complaint)}`)
    else resolve(Buffer.concat(output))
  })
  child.stdin?.end(options.stdin)
  return promise
}

function said(complaint: string): string {
  const line = complaint.trim().split('\n').at(-1)?.trim().slice(0, 200) ?? ''
  return line === '' ? '' : `: ${line}`
}

/** What a shell would have read. */
const NO_SHELL = /\s|^[~$%]/
const ASKS =
  ': no shell reads it, so that what follows the program goes into `args`, and its path is written out'

function notStarted(command: string, cwd: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT' && !isFolder(cwd)) return `its folder ${cwd} does not exist`
  if (error.code === 'ENOENT' && /[/\\]/.test(command) && existsSync(resolve(cwd, command)))
    return `what the first line of ${command} names was not found; has it Windows line ends?`
  if (error.code === 'ENOENT')
    return `the command ${command} was not found${NO_SHELL.test(command) ? ASKS : ''}`
  if (error.code === 'EACCES') return `the command ${command} is not executable`
  return `the command ${command} could not be started: ${error.message}`
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function watch(child: ChildProcess): void {
  running.add(child)
  stopHearing ??= hearSignals(onSignal)
  if (watching) return
  watching = true
  process.on('exit', () => {
    for (const one of running) killGroup(one)
  })
}

function forget(child: ChildProcess): void {
  running.delete(child)
  if (running.size > 0) return
  stopHearing?.()
  stopHearing = undefined
}

/** A process that a signal ends hears of no exit, and its terminal tells groups of their own nothing. */
function onSignal(signal: NodeJS.Signals): void {
  // Theirs to end, and who knows when: what is asked until then is answered.
  if (isHeardByOthers(signal)) return
  for (const one of running) killGroup(one)
  stopHearing?.()
  stopHearing = undefined
  // Who else of us listens ends the process when it is done.
  if (ownListeners() === 0) endBy(signal)
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // Everything of the group has ended.
  }
}
