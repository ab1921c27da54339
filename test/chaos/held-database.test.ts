/** A process that stands still while it writes to a database that others share, as one under a debugger. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sqliteCheckpoints } from 'hookspan/agent'
import { sqliteStore } from 'hookspan/approval'
import { expect, it, onTestFinished } from 'vitest'
import { folder, request } from '../approval/support.ts'

const SCRIPT = fileURLToPath(new URL('./processes/hold-lock.ts', import.meta.url))

/** Writes, and does not end. */
async function writing(path: string) {
  const child = spawn(process.execPath, ['--no-warnings', SCRIPT, path, 'write'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return async () => {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
}

/** Milliseconds for which nothing else was done at most. */
function standstill() {
  let longest = 0
  let before = performance.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - before)
    before = performance.now()
  }, 5)
  onTestFinished(() => clearInterval(timer))
  return () => longest
}

const stores = {
  approvals(path: string) {
    const store = sqliteStore({ path })
    onTestFinished(() => store.dispose?.())
    return {
      write: (n: number) => store.add(request(`apr_${n}`)),
      written: async () => (await store.list()).length,
    }
  },
  checkpoints(path: string) {
    const store = sqliteCheckpoints({ path })
    onTestFinished(() => store.dispose?.())
    return {
      async write(n: number) {
        const claim = await store.claim(`run ${n}`)
        if (claim.state !== 'claimed') throw new Error('It is held.')
        await store.append(`run ${n}`, claim.token, { record: '{}', about: '{}' })
      },
      written: async () => (await store.list()).length,
    }
  },
}

it.each(['approvals', 'checkpoints'] as const)(
  '%s that others hold keep nothing else of this process waiting, and are told after 5 s',
  async (which) => {
    const path = `${folder()}/kept.db`
    const { write, written } = stores[which](path)
    const letGo = await writing(path)
    const longest = standstill()
    const since = performance.now()
    const told = await Promise.allSettled([1, 2, 3].map((n) => write(n)))
    const message = expect.stringMatching(/kept\.db" are locked by another process.*End or continue/)
    expect(told).toEqual(
      told.map(() => ({ status: 'rejected', reason: expect.objectContaining({ message }) })),
    )
    // One after the other they stood still for 15 s.
    expect(performance.now() - since).toBeLessThan(10_000)
    expect(longest()).toBeLessThan(2_500)

    const late = [1, 2, 3].map((n) => write(n))
    await letGo()
    await Promise.all(late)
    expect(await written()).toBe(3)
  },
)
