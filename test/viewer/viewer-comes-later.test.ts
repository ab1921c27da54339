import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { startViewer } from 'hookspan/viewer'
import { afterEach, expect, it, vi } from 'vitest'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { freePort } from '../support/free-port.ts'
import { getJson } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('a viewer that is started after the agent shows its next run while it goes on', async () => {
  const port = await freePort()
  const asked = vi.spyOn(globalThis, 'fetch')
  const tracing = startTracing({
    serviceName: 'test',
    endpoint: `http://127.0.0.1:${port}`,
    queue: { onTrouble: () => {} },
  })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  // The first question has been asked, and nobody was there.
  await expect.poll(() => asked.mock.settledResults[0]?.type).toBe('rejected')
  const viewer = await startViewer({ port, db: ':memory:' })
  vi.useFakeTimers({ toFake: ['performance'] })
  vi.advanceTimersByTime(3_600_000)
  const operation = dispatcher.startOperation({ agentName: 'late' })
  try {
    await vi.waitFor(
      async () => {
        const { runs } = await getJson<RunList>(viewer, '/api/runs')
        expect(runs).toEqual([expect.objectContaining({ agent: 'late', status: 'running' })])
      },
      { timeout: 60_000 },
    )
  } finally {
    asked.mockRestore()
    await operation.complete({})
    await tracing.shutdown({ timeoutMs: 1_000 })
    await viewer.close()
  }
})
