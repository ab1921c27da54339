import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { expect } from 'vitest'

const RUNS = 3

/**
 * Holds that a run ends whose reader is gone without a word.
 *
 * @param drop begins a run and lets go of what it is read with.
 */
export async function endsOnceDropped(drop: (dispatcher: HookDispatcher) => Promise<unknown>): Promise<void> {
  const ends: HookEvent[] = []
  const dispatcher = new HookDispatcher()
  const handler = (event: HookEvent) => void ends.push(event)
  dispatcher.use({ name: 'watch', hooks: [{ id: 'e', type: 'onComplete', handler }] })
  for (let i = 0; i < RUNS; i++) await drop(dispatcher)
  expect(dispatcher.stats().operations).toBe(RUNS)

  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const open = () => {
    gc()
    return dispatcher.stats().operations
  }
  await expect.poll(open, { timeout: 60_000, interval: 50 }).toBe(0)

  await dispatcher.drain()
  expect(ends).toHaveLength(RUNS)
  for (const end of ends) expect(end).toMatchObject({ reason: 'interrupted', abandoned: true })
}
