/** A run with checkpoints on a disk that is full, or may not be written: no tool runs that is not written down before. */
import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import {
  type Agent,
  type CheckpointStore,
  execAgent,
  resumeAgent,
  sqliteCheckpoints,
  unfinishedRuns,
} from 'hookspan/agent'
import { expect, it, vi } from 'vitest'
import { statelessModel } from '../support/stateless-model.ts'
import { smallDisk } from './support/small-disk.ts'

const ID = 'run-1'
const STEPS = 6

/** Calls its tool six times; after the third one the disk is made to be what it is to be. */
function scene(checkpoint: CheckpointStore, spoil: () => void) {
  let ran = 0
  const agent: Agent = {
    name: 'a',
    model: 'm',
    tools: [
      {
        name: 'write',
        execute: () => {
          ran++
          if (ran === 3) spoil()
          return 'x'.repeat(20_000)
        },
      },
    ],
  }
  const client = statelessModel((messages) => {
    const told = messages.filter(({ role }) => role === 'tool').length
    return told < STEPS ? { calls: [{ id: `c${told}`, name: 'write', args: {} }] } : { content: 'done' }
  })
  return { options: { agent, client, checkpoint, operationId: ID, priceOf: () => 0 }, ran: () => ran }
}

/** Until nothing more goes onto it, a byte at last. */
function fill(path: string): void {
  for (const size of [65_536, 4_096, 512]) {
    for (let n = 0; ; n++) {
      try {
        writeFileSync(`${path}/ballast-${size}-${n}`, Buffer.alloc(size))
      } catch {
        break
      }
    }
  }
}

it('on a disk that becomes full, runs no more tools, and goes on when there is room', async ({ skip }) => {
  using disk = smallDisk(2 * 1024 * 1024)
  if (disk === undefined) return skip('needs the right to mount a tmpfs')
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const store = sqliteCheckpoints({ path: `${disk.path}/checkpoints.db` })
  const { options, ran } = scene(store, () => fill(disk.path))
  const run = await execAgent({ ...options, prompt: 'go' })
  expect(run).toMatchObject({ status: 'error', error: { code: 'CHECKPOINT_FAILED' } })
  expect(String(run.error)).toContain('Mend the store, then resume the run')
  // The one whose result could not be kept, and none after it.
  expect(ran()).toBe(3)
  for (const name of readdirSync(disk.path)) if (name.startsWith('ballast')) rmSync(`${disk.path}/${name}`)
  expect(await unfinishedRuns(store)).toMatchObject([{ operationId: ID }])
  const rest = await resumeAgent(options)
  expect(rest).toMatchObject({ status: 'done', content: 'done', steps: STEPS + 1 })
  // Of the third nobody knows: it is not run a second time.
  expect(ran()).toBe(STEPS)
  expect(rest.messages.filter(({ content }) => String(content).includes('execution_unknown'))).toHaveLength(1)
  expect(await unfinishedRuns(store)).toEqual([])
  await store.dispose?.()
  warn.mockRestore()
})

it('on a read-only disk says so, and keeps the run', async ({ skip }) => {
  using disk = smallDisk(2 * 1024 * 1024)
  if (disk === undefined) return skip('needs the right to mount a tmpfs')
  const path = `${disk.path}/checkpoints.db`
  const store = sqliteCheckpoints({ path })
  const controller = new AbortController()
  const { options, ran } = scene(store, () => controller.abort())
  const run = await execAgent({ ...options, prompt: 'go', signal: controller.signal })
  expect(run.status).toBe('interrupted')
  await store.dispose?.()
  execFileSync('mount', ['-o', 'remount,ro', disk.path])
  expect(() => sqliteCheckpoints({ path })).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_FAILED', message: expect.stringContaining(path) }),
  )
  execFileSync('mount', ['-o', 'remount,rw', disk.path])
  const again = sqliteCheckpoints({ path })
  const rest = await resumeAgent({ ...options, checkpoint: again })
  expect(rest).toMatchObject({ status: 'done', content: 'done' })
  expect(ran()).toBe(STEPS)
  await again.dispose?.()
})

it('on a disk that is full before it begins, is not begun', async ({ skip }) => {
  using disk = smallDisk(1024 * 1024)
  if (disk === undefined) return skip('needs the right to mount a tmpfs')
  const store = sqliteCheckpoints({ path: `${disk.path}/checkpoints.db` })
  const { options, ran } = scene(store, () => {})
  fill(disk.path)
  await expect(execAgent({ ...options, prompt: 'go' })).rejects.toMatchObject({ code: 'CHECKPOINT_FAILED' })
  expect(ran()).toBe(0)
  await store.dispose?.()
})
