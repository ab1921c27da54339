import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Line } from './scenario.ts'
import { until } from './wait.ts'

const RESOLVE = fileURLToPath(new URL('resolve.ts', import.meta.url))

/** What processes of a folder have said: a line that one was killed in is no line. */
export function linesIn(folder: string): Line[] {
  const path = `${folder}/told.jsonl`
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as Line] : []))
}

/** A process that serves the agent of the scenario; the same one again after it was killed. */
export class Worker {
  readonly folder: string
  readonly #script: string
  readonly #args: readonly string[]
  #process: ChildProcess | undefined

  /** @param script one of processes/, or the path of another */
  constructor(script: string, folder: string, ...args: readonly string[]) {
    this.#script = isAbsolute(script)
      ? script
      : fileURLToPath(new URL(`../processes/${script}.ts`, import.meta.url))
    this.folder = folder
    this.#args = args
  }

  /** Begins it; it is not up yet. */
  start(env: NodeJS.ProcessEnv = {}): void {
    const log = openSync(`${this.folder}/worker.log`, 'a')
    const args = ['--no-warnings', '--import', RESOLVE, this.#script, this.folder, ...this.#args]
    this.#process = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    const started = this.#process
    onTestFinished(() => void started.kill('SIGKILL'))
  }

  async up(): Promise<void> {
    const pid = this.#process?.pid
    await until(`the worker in ${this.folder}`, async () => {
      if (!this.runs) throw new Error(`it ended: ${this.log}`)
      return (
        linesIn(this.folder).some((line) => line.pid === pid && 'mark' in line && line.mark === 'up') ||
        undefined
      )
    })
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  get runs(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null
  }

  async ended(): Promise<void> {
    if (this.#process !== undefined && this.runs) await once(this.#process, 'exit')
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#process?.kill(signal)
    await this.ended()
  }

  get log(): string {
    return readFileSync(`${this.folder}/worker.log`, 'utf8')
  }
}
