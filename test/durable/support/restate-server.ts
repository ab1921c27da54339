import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { until } from './wait.ts'

const require = createRequire(import.meta.url)

function binary(): string {
  const server = dirname(require.resolve('@restatedev/restate-server/package.json'))
  const { platform, arch } = process
  return join(dirname(server), `restate-server-${platform}-${arch}`, 'bin', 'restate-server')
}

/** A Restate of its own, on loopback, with its telemetry off; the same one again after it was killed. */
export class RestateServer {
  readonly folder: string
  readonly ingress: string
  readonly admin: string
  #process: ChildProcess | undefined

  private constructor(folder: string, ingress: number, admin: number) {
    this.folder = folder
    this.ingress = `http://127.0.0.1:${ingress}`
    this.admin = `http://127.0.0.1:${admin}`
  }

  /** @param ports others than free ones */
  static async start(
    folder: string,
    ports: { ingress?: number; admin?: number } = {},
  ): Promise<RestateServer> {
    mkdirSync(folder, { recursive: true })
    const { ingress = await freePort(), admin = await freePort() } = ports
    const node = await freePort()
    const config = `bind-ip = "127.0.0.1"
bind-port = ${node}
base-dir = ${JSON.stringify(join(folder, 'data'))}
disable-telemetry = true
default-num-partitions = 1
rocksdb-total-memory-size = "64 MB"

[admin]
bind-port = ${admin}

[ingress]
bind-port = ${ingress}

[worker.invoker]
inactivity-timeout = "1s"

[default-retry-policy]
initial-interval = "50ms"
max-interval = "200ms"
max-attempts = "unlimited"
`
    writeFileSync(join(folder, 'restate.toml'), config)
    const server = new RestateServer(folder, ingress, admin)
    await server.start()
    return server
  }

  async start(): Promise<void> {
    const log = openSync(join(this.folder, 'server.log'), 'a')
    this.#process = spawn(binary(), ['--config-file', join(this.folder, 'restate.toml'), '--no-logo'], {
      env: { ...process.env, RESTATE_LISTEN_MODE: 'tcp', DO_NOT_TRACK: '1' },
      stdio: ['ignore', log, log],
    })
    const { exitCode } = this.#process
    await until(`Restate (${exitCode ?? 'runs'}, see ${this.folder}/server.log)`, async () => {
      const answers = await Promise.all(
        [`${this.ingress}/restate/health`, `${this.admin}/health`].map((url) => fetch(url)),
      )
      return answers.every(({ ok }) => ok) ? true : undefined
    })
  }

  async kill(): Promise<void> {
    const process = this.#process
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return
    process.kill('SIGKILL')
    await once(process, 'exit')
  }

  /** `SIGSTOP`: it stands still, as one that is too busy to answer; until `SIGCONT`. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }

  get log(): string {
    return readFileSync(join(this.folder, 'server.log'), 'utf8')
  }

  /** Tells it where the worker is. */
  async register(uri: string): Promise<void> {
    await until(`registering ${uri}`, async () => {
      const answer = await fetch(`${this.admin}/deployments`, json({ uri, force: true }))
      if (!answer.ok) throw new Error(await answer.text())
      return true
    })
  }

  async begin(service: string, key: string, input: object): Promise<string> {
    return until('the beginning of a run', async () => {
      const answer = await fetch(`${this.ingress}/${service}/${key}/run/send`, json(input))
      // A workflow is begun once: said again, as where the answer was lost, Restate says that it is.
      if (!answer.ok && answer.status !== 409) throw new Error(await answer.text())
      const { invocationId } = (await answer.json()) as { invocationId: string }
      return invocationId
    })
  }

  async cancel(invocationId: string): Promise<void> {
    const answer = await fetch(`${this.admin}/invocations/${invocationId}/cancel`, { method: 'PATCH' })
    if (answer.status !== 202)
      throw new Error(`Cancelling was answered ${answer.status}: ${await answer.text()}`)
  }

  /** What came of a run; waits for it. */
  async output(service: string, key: string, timeoutMs = 60_000): Promise<unknown> {
    return until(
      `the end of run ${key}`,
      async () => {
        const answer = await fetch(`${this.ingress}/restate/workflow/${service}/${key}/output`)
        if (answer.status === 470 || answer.status === 404) return undefined
        return answer.json()
      },
      timeoutMs,
    )
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    const answer = await fetch(`${this.admin}/query`, {
      ...json({ query: sql }),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    })
    return ((await answer.json()) as { rows: Record<string, unknown>[] }).rows
  }
}

export function json(body: unknown): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
