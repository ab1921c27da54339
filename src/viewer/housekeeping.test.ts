import { afterEach, expect, it, vi } from 'vitest'
import { Housekeeping } from './housekeeping.ts'
import { Live } from './http/live.ts'
import { Store } from './store/store.ts'

afterEach(() => void vi.useRealTimers())

it.each([
  [0, 0],
  [2, 1],
])('of %i runs that retention removes, open pages are told %i times', async (removed, times) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'setTimeout'] })
  const store = new Store({ file: ':memory:' })
  store.sweeping = function* () {
    yield
    return removed
  }
  const live = new Live()
  const told = vi.spyOn(live, 'changedElsewhere')
  const keeping = new Housekeeping(store, live, () => {})
  keeping.start()
  await vi.advanceTimersByTimeAsync(60_000)
  await keeping.stop()
  store.close()
  expect(told).toHaveBeenCalledTimes(times)
})
