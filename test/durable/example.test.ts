/** examples/durable/temporal as its head says it, on a real Temporal: its worker killed as it pays, and one trace in the viewer. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startViewer } from 'hookspan/viewer'
import { expect, it, onTestFinished } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { temporalProgram, WITHOUT_TEMPORAL } from './support/temporal-program.ts'
import { TemporalServer } from './support/temporal-server.ts'
import { until } from './support/wait.ts'
import { Worker } from './support/worker.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** The example where hookspan and the engines are found by their names, as where they are installed. */
function example(): string {
  mkdirSync(path('../../.cache'), { recursive: true })
  const folder = mkdtempSync(path('../../.cache/durable-example-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(path('../../examples/durable'), folder, { recursive: true })
  symlinkSync(path('node_modules'), join(folder, 'node_modules'))
  return folder
}

it.skipIf(temporalProgram === undefined)(
  `a worker that is killed as it pays pays once, and its run is one trace${WITHOUT_TEMPORAL}`,
  async () => {
    const folder = example()
    const server = await TemporalServer.start(temporalProgram as string, folder)
    onTestFinished(() => server.kill())
    const viewer = await startViewer({ db: ':memory:', port: 0 })
    onTestFinished(() => viewer.close())
    const env = {
      TEMPORAL_ADDRESS: server.address,
      REFUNDS_FOLDER: folder,
      OTEL_EXPORTER_OTLP_ENDPOINT: viewer.url,
    }
    const worker = new Worker(join(folder, 'temporal/worker.ts'), folder)
    const temporal = async (...args: string[]) => {
      const program = temporalProgram as string
      const { stdout } = await promisify(execFile)(program, [
        'workflow',
        ...args,
        '--address',
        server.address,
      ])
      return stdout
    }
    const run = ['--workflow-id', 'refund-7']
    worker.start({ ...env, CUT: '1' })
    await temporal(
      ...['start', '--task-queue', 'agents', '--type', 'refunds', ...run],
      ...['--input', '{"prompt":"Refund order 7"}'],
    )

    const db = ['--db', `${folder}/approvals.db`]
    const [asked] = await until('a question', async () => {
      const { stdout } = await runCli(['approvals', 'list', '--json', ...db])
      const found = JSON.parse(stdout) as { request: { id: string } }[]
      return found.length > 0 ? found : undefined
    })
    expect((await runCli(['approvals', 'approve', asked?.request.id ?? '', ...db])).code).toBe(0)
    // It kills itself as it has paid, and before anybody knows.
    await worker.ended()
    worker.start(env)

    expect(await temporal('result', ...run)).toContain('It is refunded.')
    expect(readdirSync(folder).filter((name) => name.endsWith('.receipt'))).toHaveLength(1)
    await until('the end of the run in the viewer', async () => {
      const headers = { authorization: `Bearer ${viewer.token}` }
      const { runs } = (await (await fetch(`${viewer.url}/api/runs`, { headers })).json()) as {
        runs: { status: string }[]
      }
      expect(runs).toHaveLength(1)
      return runs[0]?.status === 'ok' ? true : undefined
    })
  },
)
