import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startViewer } from 'hookspan/viewer'
import { expect, it, vi } from 'vitest'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { getJson } from './support.ts'

const AGENT = fileURLToPath(new URL('processes/park-a-run.ts', import.meta.url))
const soon = { timeout: 60_000, interval: 50 }

it('a run that was parked waits, also once its process is gone, and is one run when another ends it', async () => {
  const viewer = await startViewer({ port: 0, db: ':memory:' })
  const runs = async () => (await getJson<RunList>(viewer, '/api/runs')).runs
  const statuses = async () => (await runs()).map(({ status }) => status)
  try {
    const first = spawn(process.execPath, [AGENT, 'park', viewer.otlpEndpoint])
    let saved = ''
    first.stdout.on('data', (chunk) => (saved += chunk))
    await vi.waitFor(async () => expect(await statuses()).toEqual(['waiting']), soon)
    first.stdin.end()
    await once(first, 'exit')
    viewer.store.recheckOpenRuns(Date.now() + 3_600_000)
    expect(await statuses()).toEqual(['waiting'])

    const second = spawn(process.execPath, [AGENT, 'resume', viewer.otlpEndpoint])
    second.stdin.end(saved)
    await once(second, 'exit')
    await vi.waitFor(async () => expect(await statuses()).toEqual(['ok']), soon)
    expect((await runs()).map(({ spans }) => spans)).toEqual([3])
  } finally {
    await viewer.close()
  }
}, 60_000)
