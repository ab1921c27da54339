import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../../support/free-port.ts'
import { until } from './wait.ts'

/** A Temporal of its own, on loopback, that keeps its runs in a file; the same one again after it was killed. */
export class TemporalServer {
  readonly address: string
  readonly #folder: string
  readonly #program: string
  readonly #settings: readonly string[]
  readonly #metrics: number
  #process: ChildProcess | undefined

  private constructor(
    program: string,
    folder: string,
    port: number,
    metrics: number,
    settings: readonly string[],
  ) {
    this.#program = program
    this.#folder = folder
    this.#metrics = metrics
    this.#settings = settings
    this.address = `127.0.0.1:${port}`
  }

  /** @param settings of its dynamic configuration, `name=value`. */
  static async start(
    program: string,
    folder: string,
    ...settings: readonly string[]
  ): Promise<TemporalServer> {
    const [port = 0] = await freePorts(1)
    return TemporalServer.startAt(port, program, folder, ...settings)
  }

  static async startAt(
    port: number,
    program: string,
    folder: string,
    ...settings: readonly string[]
  ): Promise<TemporalServer> {
    const [metrics = 0] = await freePorts(1)
    const server = new TemporalServer(program, folder, port, metrics, settings)
    await server.start()
    return server
  }

  async start(): Promise<void> {
    await until(`Temporal (see ${this.#folder}/temporal.log)`, async () => {
      // Where the port, or the file, is not free again yet, it ends at once.
      if (this.#process === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null)
        this.#spawn()
      const { status } = await this.run('operator', 'cluster', 'health')
      return status === 0 ? true : undefined
    })
  }

  #spawn(): void {
    const log = openSync(join(this.#folder, 'temporal.log'), 'a')
    const [ip = '', port = ''] = this.address.split(':')
    const where = ['--ip', ip, '--port', port, '--metrics-port', String(this.#metrics), '--headless']
    const settings = this.#settings.flatMap((setting) => ['--dynamic-config-value', setting])
    const args = [
      'server',
      'start-dev',
      ...where,
      '--db-filename',
      join(this.#folder, 'temporal.db'),
      ...settings,
    ]
    this.#process = spawn(this.#program, args, { stdio: ['ignore', log, log], cwd: this.#folder })
    closeSync(log)
  }

  /** A command of Temporal's, with what it says. */
  async run(...args: readonly string[]): Promise<{ status: number | null; said: string }> {
    const child = spawn(this.#program, [...args, '--address', this.address], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const pieces: Buffer[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => pieces.push(piece))
    await once(child, 'close')
    return { status: child.exitCode, said: Buffer.concat(pieces).toString() }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const process = this.#process
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return
    process.kill(signal)
    await once(process, 'exit')
  }

  /** Stands still, as a machine that is too busy to answer; goes on with `SIGCONT`. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }
}
