/** Callbacks of the user's that nobody waits for, and that fail: at once, or later as `async` functions do. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore, redisChannel } from 'hookspan/approval'
import { useConfig } from 'hookspan/policies'
import { startViewer } from 'hookspan/viewer'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const failures: unknown[] = []
const note = (error: unknown) => void failures.push(error)
const EVENTS = ['unhandledRejection', 'uncaughtException'] as const
const others = new Map(EVENTS.map((event) => [event, process.listeners(event as never)]))
let folder = ''
beforeEach(() => {
  for (const event of EVENTS) {
    process.removeAllListeners(event)
    process.on(event, note)
  }
  folder = mkdtempSync(join(tmpdir(), 'hookspan-callbacks-'))
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5))
  for (const event of EVENTS) {
    process.off(event, note)
    for (const listener of others.get(event) ?? []) process.on(event, listener as never)
  }
  rmSync(folder, { recursive: true })
  vi.restoreAllMocks()
  expect(failures.splice(0)).toEqual([])
})

const warned = () => vi.mocked(console.warn).mock.calls.join()

describe.each<[string, () => never | Promise<never>]>([
  [
    'at once',
    () => {
      throw new Error('a bad callback')
    },
  ],
  ['later', async () => Promise.reject(new Error('a bad callback'))],
])('a callback that fails %s', (_when, fails) => {
  it('ends no process that takes answers from a broker', async () => {
    let hear: (message: string) => unknown = () => {}
    const client = {
      isOpen: true,
      connect: async () => {},
      duplicate: () => client,
      on: () => {},
      subscribe: async (_topic: string, listener: typeof hear) => {
        hear = listener
      },
      destroy: () => {},
      eval: async () => {},
      publish: async () => {},
    }
    const channel = redisChannel({ client: client as never, secret: 's'.repeat(32), onRefused: fails })
    const approvals = createApprovals({ store: memoryStore(), channels: [channel] })
    await approvals.ready()
    // As the client calls it, which waits for nothing.
    void hear('no message')
    await vi.waitFor(() => expect(warned()).toContain('a bad callback'))
    await approvals.close()
  })

  it('keeps no config from being taken, and ends no process that watches it', async () => {
    const file = join(folder, 'hookspan.config.yaml')
    const write = (tool: string) =>
      writeFileSync(file, `gates:\n  - { id: a, type: toolPolicy, deny: [${tool}] }\n`)
    write('one')
    const onReload = vi.fn(fails)
    const options = { cwd: folder, userFile: false, watch: true, onError: fails, onReload } as const
    using inUse = await useConfig(new HookDispatcher(), options)
    write('two')
    await vi.waitFor(() => expect(onReload).toHaveBeenCalledTimes(1))
    expect((await inUse.reload()).entries).toHaveLength(1)
    writeFileSync(file, 'gates: [{ id: a, type: nothing }]')
    await vi.waitFor(() => expect(warned()).toContain('a bad callback'))
  })

  it('keeps no viewer from starting', async () => {
    const db = join(folder, 'traces.db')
    const { DatabaseSync } = await import('node:sqlite')
    const old = new DatabaseSync(db)
    old.exec('CREATE TABLE run (something TEXT); PRAGMA user_version = 99')
    old.close()
    const viewer = await startViewer({ db, port: 0, onNotice: fails })
    expect((await fetch(viewer.url)).status).toBeLessThan(500)
    await vi.waitFor(() => expect(warned()).toContain('a bad callback'))
    await viewer.close()
  })
})
