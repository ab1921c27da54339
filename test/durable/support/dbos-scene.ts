import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll } from 'vitest'
import type { Untyped } from '../../sdks/support/sdks.ts'
import { Postgres } from './postgres.ts'
import type { Line } from './scenario.ts'
import { Scene } from './scene.ts'
import { until } from './wait.ts'
import { Worker } from './worker.ts'

/** A Postgres for the tests of a file: there once they run. */
export function postgresOfSuite(): { readonly server: Postgres } {
  const folder = mkdtempSync(`${tmpdir()}/hookspan-dbos-`)
  let server: Postgres | undefined
  beforeAll(async () => {
    server = await Postgres.start(`${folder}/postgres`)
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    get server() {
      return server as Postgres
    },
  }
}

/** One agent on DBOS, which has one run: its worker begins it, or takes it up again. */
export class DbosScene extends Scene {
  override worker: Worker
  readonly id: string
  readonly #url: string
  readonly #version: string
  #env: NodeJS.ProcessEnv = {}

  static #count = 0

  constructor(postgres: { readonly url: string }, what: string) {
    super()
    // DBOS takes up the runs of its own version, and of no other.
    this.#version = `v${DbosScene.#count++}`
    this.id = `${this.#version}-1`
    this.#url = postgres.url
    this.worker = this.#workerOf(what)
  }

  #workerOf(what: string): Worker {
    return new Worker('dbos-worker', this.folder, this.#url, this.#version, what)
  }

  /** What comes of the run in a worker whose code has this. */
  outputOf<T>(what: string): Promise<T> {
    this.worker = this.#workerOf(what)
    this.start()
    return this.output<T>()
  }

  start(env: NodeJS.ProcessEnv = {}): void {
    this.#env = env
    this.worker.start(env)
  }

  /** Until its worker is up, or has ended: as it does without Postgres. */
  async upOrGone(): Promise<void> {
    const { worker } = this
    const isUp = (line: Line) => line.pid === worker.pid && 'mark' in line && line.mark === 'up'
    await until(`the worker in ${this.folder}`, async () =>
      !worker.runs || this.lines.some(isUp) ? true : undefined,
    )
  }

  /** What came of the run; waits for it. */
  async output<T>(): Promise<T> {
    const path = `${this.folder}/done.json`
    await until(`the end of run ${this.id}`, async () => {
      if (existsSync(path)) return true
      // As whoever looks after it does: without Postgres it cannot even begin.
      if (!this.worker.runs) this.start(this.#env)
      return undefined
    })
    await this.said((line) => 'mark' in line && line.mark === 'done')
    return JSON.parse(readFileSync(path, 'utf8')) as T
  }

  /** As somebody does elsewhere. */
  async cancel(): Promise<void> {
    const { DBOSClient }: Untyped = await import('@dbos-inc/dbos-sdk' as string)
    const client = await DBOSClient.create({ systemDatabaseUrl: this.#url })
    await client.cancelWorkflow(this.id)
    await client.destroy()
  }
}
