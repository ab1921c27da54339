import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'

import { until } from './wait.ts'

const DEBIAN = '/usr/lib/postgresql'

/** Where its programs are; undefined where there is no Postgres. */
export const postgresPrograms = (existsSync(DEBIAN) ? readdirSync(DEBIAN) : [])
  .sort((one, other) => Number(other) - Number(one))
  .map((version) => join(DEBIAN, version, 'bin'))
  .find((bin) => existsSync(join(bin, 'initdb')))

/** For the name of what is skipped. */
export const WITHOUT_POSTGRES = postgresPrograms
  ? ''
  : ': there is no Postgres, run apt-get install postgresql'

/** It does not run as root. */
function userOf(): { uid: number; gid: number } | { uid?: never; gid?: never } {
  if (process.getuid?.() !== 0) return {}
  const id = (which: string) => Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** A Postgres of its own, on loopback, that writes everything to the disk; the same one again after it was killed. */
export class Postgres {
  readonly url: string
  readonly #folder: string
  readonly #port: number
  readonly #user = userOf()
  #process: ChildProcess | undefined

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
    this.url = `postgresql://postgres@127.0.0.1:${port}/runs`
  }

  static async start(folder: string): Promise<Postgres> {
    mkdirSync(folder, { recursive: true })
    const postgres = new Postgres(folder, await freePort())
    if (postgres.#user.uid !== undefined) {
      chownSync(folder, postgres.#user.uid, postgres.#user.gid)
      chmodSync(join(folder, '..'), 0o755)
    }
    postgres.#run('initdb', '-D', postgres.#data, '-U', 'postgres', '--auth', 'trust', '-E', 'UTF8')
    await postgres.start()
    postgres.#run('createdb', '-h', '127.0.0.1', '-p', String(postgres.#port), '-U', 'postgres', 'runs')
    return postgres
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  #run(program: string, ...args: readonly string[]): void {
    execFileSync(join(postgresPrograms as string, program), args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: this.#folder,
      ...this.#user,
    })
  }

  async start(): Promise<void> {
    await until('Postgres', async () => {
      // Where those of one that was killed are not gone yet, it ends at once.
      if (this.#process === undefined || this.#process.exitCode !== null) this.#spawn()
      this.#run('pg_isready', '-h', '127.0.0.1', '-p', String(this.#port))
      return true
    })
  }

  #spawn(): void {
    const log = openSync(join(this.#folder, 'log'), 'a')
    const args = ['-D', this.#data, '-h', '127.0.0.1', '-p', String(this.#port), '-k', this.#folder]
    const stdio: ['ignore', number, number] = ['ignore', log, log]
    this.#process = spawn(join(postgresPrograms as string, 'postgres'), args, {
      stdio,
      cwd: this.#folder,
      ...this.#user,
    })
    closeSync(log)
  }

  /** Of the one that the others belong to: they go when they see it. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const process = this.#process
    if (process === undefined) return
    process.kill(signal)
    if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
    this.#process = undefined
  }

  /** At once, without a word to those who are connected. */
  stop(): Promise<void> {
    return this.kill('SIGQUIT')
  }
}
