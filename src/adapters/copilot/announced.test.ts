import { expect, it, onTestFinished, vi } from 'vitest'
import { AnnouncedCalls } from './announced.ts'

it('waits no longer for what was not announced where the clock is set back meanwhile', async () => {
  const { now } = Date
  let setBackMs = 0
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - setBackMs)
  onTestFinished(() => clock.mockRestore())
  const call = new AnnouncedCalls().take('an-agent', 'refund', {})
  setBackMs = 3_600_000
  expect(await call).toBeUndefined()
})
