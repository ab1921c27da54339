/** Workers of pm2, which ends them by a signal: what waits then is sent first. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { scene } from '../chaos/support/scene.ts'

const WORKERS = 8
const RUNS = 4
const SPANS = WORKERS * RUNS * 3
const WORKER = fileURLToPath(new URL('../chaos/processes/pm2-worker.mjs', import.meta.url))
// In the foreground: nothing of it outlives its end.
const PM2 = createRequire(new URL('./package.json', import.meta.url)).resolve('pm2/bin/pm2-runtime')

const at = scene()

it('delivers what workers of pm2 have not sent when it ends them', async () => {
  // More than a busy machine needs: by default pm2 waits 1.6 seconds.
  const app = {
    name: 'agents',
    script: WORKER,
    instances: WORKERS,
    exec_mode: 'cluster',
    kill_timeout: 60_000,
  }
  const file = join(at.folder, 'agents.config.json')
  writeFileSync(file, JSON.stringify({ apps: [app] }))
  const child = spawn(process.execPath, [PM2, 'start', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ENDPOINT: at.collector.url,
      TRUTH: at.truth(),
      SPOOL: at.spoolDir,
      RUNS: String(RUNS),
      // The clock sends nothing before the end.
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      PM2_HOME: join(at.folder, 'pm2'),
      PM2_DISABLE_VERSION_CHECK: 'true',
    },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said = (said + chunk).slice(-4_000)
    })
  try {
    await expect
      .poll(() => (child.exitCode === null ? at.told().ended.size : said), { timeout: 100_000 })
      .toBe(SPANS)
    // A worker that looks into a folder which another one makes at that moment takes it for left behind, and sends.
    expect(await at.collector.size()).toBeLessThan(SPANS / 2)
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')
    expect(code, said).toBe(0)
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  }
  const { states, doubled } = await at.collector.received()
  expect({ delivered: states.size, doubled }, said).toEqual({ delivered: SPANS, doubled: 0 })
})
