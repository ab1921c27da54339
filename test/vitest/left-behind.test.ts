import { HookDispatcher, HookspanError } from 'hookspan'
import { mock } from 'hookspan/mock'
import { repeatRuns } from 'hookspan/vitest'
import { expect, it } from 'vitest'
import { TestKit } from '../../src/vitest/test-kit.ts'

it('does not let real tools run for what a test has left behind', async () => {
  const ran: string[] = []
  const left: HookDispatcher[] = []
  const call = async (dispatcher: HookDispatcher, apiName: string, agentName: string) => {
    const op = dispatcher.startOperation({ agentName })
    const outcome = await op.toolCall({ apiName, args: {} }, () => ran.push(agentName))
    await op.complete()
    return outcome
  }
  await repeatRuns(1, async ({ dispatcher, mocks }) => {
    mocks.use(mock('charge').returns('mocked'))
    await call(dispatcher, 'charge', 'in time')
    left.push(dispatcher)
  })
  // It was out of time, and nobody stops what it does next.
  expect(await call(left[0] as HookDispatcher, 'charge', 'late')).toMatchObject({
    state: 'errored',
    error: expect.any(HookspanError),
  })
  expect(ran).toEqual([])

  // Without mocks the tools are meant to run.
  await repeatRuns(1, ({ dispatcher }) => void left.push(dispatcher))
  expect(await call(left[1] as HookDispatcher, 'charge', 'live')).toMatchObject({ state: 'completed' })
})

it('does not on a dispatcher that a test has brought along, which goes on with other runs', async () => {
  const dispatcher = new HookDispatcher()
  const ran: string[] = []
  const asked = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  const left = new TestKit().on(dispatcher)
  left.mocks.use(mock('charge').optional().returns('mocked'))
  const run = dispatcher.startOperation({ agentName: 'left' })
  const outcome = run.step(async (step) => {
    asked.resolve()
    await goesOn.promise
    return step.toolCall({ apiName: 'charge', args: {} }, () => ran.push('left'))
  })
  await asked.promise
  expect(await left.finish()).toMatchObject([{ message: expect.stringContaining('a run went on') }])
  goesOn.resolve()
  expect(await outcome).toMatchObject({ state: 'errored' })
  const other = dispatcher.startOperation({ agentName: 'other' })
  await other.toolCall({ apiName: 'charge', args: {} }, () => ran.push('other'))
  expect(ran).toEqual(['other'])
})
