import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { RestateServer } from './restate-server.ts'
import { Scene } from './scene.ts'
import { until } from './wait.ts'
import { Worker } from './worker.ts'

/** A Restate for the tests of a file: there once they run. */
export function restateOfSuite(): { readonly server: RestateServer } {
  const folder = mkdtempSync(`${tmpdir()}/hookspan-restate-`)
  let server: RestateServer | undefined
  beforeAll(async () => {
    server = await RestateServer.start(folder)
  })
  afterAll(async () => {
    await server?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    get server() {
      return server as RestateServer
    },
  }
}

/** One agent on a Restate: its worker, its folder, its runs. */
export class RestateScene extends Scene {
  readonly service: string
  readonly server: RestateServer
  override readonly worker: Worker
  readonly #port: number

  private constructor(server: RestateServer, service: string, port: number, args: readonly string[]) {
    super()
    this.server = server
    this.service = service
    this.#port = port
    this.worker = new Worker('restate-worker', this.folder, String(port), server.ingress, service, ...args)
  }

  static #count = 0

  static async open(server: RestateServer, ...args: readonly string[]): Promise<RestateScene> {
    return new RestateScene(server, `shop-${RestateScene.#count++}`, await freePort(), args)
  }

  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    this.worker.start(env)
    await this.worker.up()
    await this.server.register(`http://127.0.0.1:${this.#port}`)
  }

  begin(key: string, input: object = { prompt: 'go' }): Promise<string> {
    return this.server.begin(this.service, key, input)
  }

  output<T>(key: string): Promise<T> {
    return this.server.output(this.service, key) as Promise<T>
  }

  /** Until it waits for a human, and Restate has that in its journal: what comes before is kept, and nothing is at work. */
  async parked(invocationId: string): Promise<void> {
    const sql = `SELECT id FROM sys_journal WHERE id = '${invocationId}' AND entry_type = 'Command: Sleep'`
    await until('a run that waits', async () =>
      (await this.server.query(sql)).length > 0 ? true : undefined,
    )
  }
}
