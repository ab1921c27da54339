import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startViewer } from 'hookspan/viewer'
import { expect, it, vi } from 'vitest'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { getJson } from './support.ts'

const AGENT = fileURLToPath(new URL('processes/ask-a-person.ts', import.meta.url))

it('a run of our own tracing is shown as interrupted seconds after its process was killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-killed-'))
  const viewer = await startViewer({ port: 0, db: ':memory:' })
  const files = [join(folder, 'approvals.db'), join(folder, 'audit.jsonl')]
  const agent = spawn(process.execPath, [AGENT, ...files, viewer.url, 'op-1'], { stdio: 'ignore' })
  const ended = once(agent, 'exit')
  const statuses = async () => (await getJson<RunList>(viewer, '/api/runs')).runs.map(({ status }) => status)
  try {
    await vi.waitFor(async () => expect(await statuses()).toEqual(['waiting']), {
      timeout: 60_000,
      interval: 50,
    })
    expect(viewer.store.recheckOpenRuns(Date.now() + 5_000)).toEqual([])
    agent.kill('SIGKILL')
    await ended
    expect(viewer.store.recheckOpenRuns(Date.now() + 5_000)).toHaveLength(1)
    expect(await statuses()).toEqual(['interrupted'])
  } finally {
    agent.kill('SIGKILL')
    await viewer.close()
    rmSync(folder, { recursive: true })
  }
})
