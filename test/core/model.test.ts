import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { commands, finish, Model, Real } from './model.ts'

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
)
afterEach(() => void vi.useRealTimers())

it('keeps order, bounds and isolation in any mix of registrations, dispatches and handlers, and retains nothing', async () => {
  let longest = 0
  let dropped = 0
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 120, size: 'max' }), async (steps) => {
      const model = new Model()
      const real = new Real()
      await fc.asyncModelRun(() => ({ model, real }), steps)
      await finish(model, real)
      longest = Math.max(longest, model.counts.dispatched)
      dropped += model.counts.dropped
    }),
    { numRuns: 100 },
  )
  // The runs were not trivial.
  expect(longest).toBeGreaterThan(20)
  expect(dropped).toBeGreaterThan(30)
}, 60_000)
