import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { COMPILED } from './support/compiled.ts'
import { scene } from './support/scene.ts'
import { tell } from './support/tell.ts'

const RUNS = 4
const CLUSTER = fileURLToPath(new URL('./processes/clustered.ts', import.meta.url))

const at = scene()
/** Waits for its end, which has to be a good one. */
async function runs(args: readonly string[]): Promise<void> {
  const env = { ...process.env, ...COMPILED }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said = (said + chunk).slice(-4_000)
    })
  }
  const [code] = await once(child, 'close')
  expect(code, said).toBe(0)
}

async function expectAll(done: string, workers: number): Promise<void> {
  const spans = workers * RUNS * 3
  expect(at.told().ended.size).toBe(spans)
  const { doubled } = await at.allThere()
  tell({ done: `${done}, ${spans} spans`, times: workers, lost: 0, doubled })
  expect(doubled).toBe(0)
}

it('delivers what 50 workers of a cluster do at once, in memory and on one disk', async () => {
  const order = {
    endpoint: at.collector.url,
    // Of every second worker.
    spoolDir: at.spoolDir,
    truth: at.truth(),
    workers: 50,
    runs: RUNS,
  }
  await runs(['--no-warnings', CLUSTER, JSON.stringify(order)])
  await expectAll('workers of a cluster, every second with one spoolDir', order.workers)
})
