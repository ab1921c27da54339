import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import type { Untyped } from '../../sdks/support/sdks.ts'
import { Scene } from './scene.ts'
import { temporalProgram } from './temporal-program.ts'
import { TemporalServer } from './temporal-server.ts'
import { until } from './wait.ts'
import { Worker } from './worker.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

export interface TemporalOfSuite {
  readonly server: TemporalServer
  readonly client: Untyped
  /** The workflows, bundled: workers need seconds for it. */
  readonly bundle: string
}

/** A Temporal for the tests of a file: there once they run. */
export function temporalOfSuite(...settings: readonly string[]): TemporalOfSuite {
  const folder = mkdtempSync(`${tmpdir()}/hookspan-temporal-`)
  const bundle = `${folder}/workflows.js`
  let server: TemporalServer | undefined
  let connection: Untyped
  let client: Untyped
  beforeAll(async () => {
    server = await TemporalServer.start(temporalProgram as string, folder, ...settings)
    const { Client, Connection }: Untyped = await import('@temporalio/client' as string)
    connection = await Connection.connect({ address: server.address })
    client = new Client({ connection })
    writeFileSync(bundle, await bundledWorkflows())
  })
  afterAll(async () => {
    await connection?.close()
    await server?.kill()
    if (process.env.KEEP === undefined) rmSync(folder, { recursive: true, force: true })
  })
  return {
    bundle,
    get server() {
      return server as TemporalServer
    },
    get client() {
      return client
    },
  }
}

async function bundledWorkflows(): Promise<string> {
  const { bundleWorkflowCode }: Untyped = await import('@temporalio/worker' as string)
  const { code } = await bundleWorkflowCode({
    workflowsPath: path('../processes/temporal-workflows.js'),
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error: console.error, log() {} },
    // Where it is installed, it is found by its name.
    webpackConfigHook: (config: Untyped) => {
      const own = { 'hookspan/temporal/workflow$': path('../../../dist/durable/temporal/workflow/index.js') }
      config.resolve.alias = { ...config.resolve.alias, ...own }
      return config
    },
  })
  return code
}

/** One agent on a Temporal: its worker, its folder, its runs. */
export class TemporalScene extends Scene {
  override readonly worker: Worker
  readonly queue: string
  readonly #temporal: TemporalOfSuite

  static #count = 0

  constructor(temporal: TemporalOfSuite, what = 'agent') {
    super()
    this.#temporal = temporal
    this.queue = `shop-${TemporalScene.#count++}`
    this.worker = this.another(what)
  }

  /** One more worker of the same queue. */
  another(what = 'agent'): Worker {
    const { server, bundle } = this.#temporal
    return new Worker('temporal-worker', this.folder, server.address, this.queue, bundle, what)
  }

  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    this.worker.start(env)
    await this.worker.up()
  }

  async begin(workflowId: string, input: object = { prompt: 'go' }): Promise<void> {
    await this.#temporal.client.workflow.start('shop', { taskQueue: this.queue, workflowId, args: [input] })
  }

  handle(workflowId: string): Untyped {
    return this.#temporal.client.workflow.getHandle(workflowId)
  }

  /** Longer than of others: a Temporal that was killed comes back late to what it had given out. @throws what failed it. */
  async output<T>(workflowId: string): Promise<T> {
    await until(
      `the end of run ${workflowId}`,
      async () => {
        const { status } = await this.handle(workflowId).describe()
        return status.name === 'RUNNING' ? undefined : true
      },
      180_000,
    )
    return this.handle(workflowId).result() as T
  }

  /** Until it waits for a human, and nothing is at work. */
  async parked(workflowId: string): Promise<void> {
    await until('a run that waits', async () => {
      const { events } = await this.handle(workflowId).fetchHistory()
      return events.some((event: Untyped) => event.timerStartedEventAttributes) ? true : undefined
    })
  }
}
