import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type ApprovalRecord, createApprovals, sqliteStore } from 'hookspan/approval'
import { freePort } from '../../support/free-port.ts'
import type { RestateServer } from './restate-server.ts'
import type { Line } from './scenario.ts'
import { until } from './wait.ts'
import { linesIn, Worker } from './worker.ts'

/** One agent on a Restate: its worker, its folder, its runs. */
export class RestateScene {
  readonly folder = mkdtempSync(`${tmpdir()}/hookspan-durable-`)
  readonly service: string
  readonly server: RestateServer
  readonly worker: Worker
  readonly #port: number

  private constructor(server: RestateServer, service: string, port: number, args: readonly string[]) {
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

  /** As a human's tool does, in a process of its own: this one. */
  async answer(decision: 'approve' | 'reject' = 'approve'): Promise<ApprovalRecord> {
    const store = sqliteStore({ path: `${this.folder}/approvals.db` })
    const approvals = createApprovals({ store })
    try {
      const record = await until('a request', async () => (await approvals.list({ status: 'pending' }))[0])
      return await approvals.respond(record.request.id, { decision, approver: 'ann' })
    } finally {
      await approvals.close()
    }
  }

  /** The same, where somebody is asked now. */
  async answerNow(): Promise<void> {
    const asked = (await this.asked()).some(({ status }) => status === 'pending')
    if (asked) await this.answer()
  }

  /** Somebody who answers as soon as he is asked, until he goes. */
  human(): { goes(): Promise<void> } {
    let here = true
    const sits = (async () => {
      while (here) {
        await this.answerNow()
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })()
    return {
      async goes() {
        here = false
        await sits
      },
    }
  }

  async asked(): Promise<ApprovalRecord[]> {
    const store = sqliteStore({ path: `${this.folder}/approvals.db` })
    try {
      return await store.list()
    } finally {
      await store.dispose?.()
    }
  }

  /** Until it waits for a human, and Restate has that in its journal: what comes before is kept, and nothing is at work. */
  async parked(invocationId: string): Promise<void> {
    const sql = `SELECT id FROM sys_journal WHERE id = '${invocationId}' AND entry_type = 'Command: Sleep'`
    await until('a run that waits', async () =>
      (await this.server.query(sql)).length > 0 ? true : undefined,
    )
  }

  get lines(): Line[] {
    return linesIn(this.folder)
  }

  said(what: (line: Line) => boolean): Promise<Line> {
    return until('a line', async () => this.lines.find(what))
  }

  async close(): Promise<void> {
    await this.worker.kill()
    if (process.env.KEEP === undefined) rmSync(this.folder, { recursive: true, force: true })
    else console.log(this.folder)
  }
}
