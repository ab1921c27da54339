import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, it } from 'vitest'
import { AnswerWatch } from './answer-watch.ts'

it('tells of an answer outside of the run that waits for it: what DBOS is asked inside is a step of that', async () => {
  const run = new AsyncLocalStorage<string>()
  const told = Promise.withResolvers<string | undefined>()
  const approver = {
    requestApproval: async () => ({ decision: 'approve' as const }),
    closed: async () => true,
  }
  const watch = AnswerWatch.of(approver, 1, async () => told.resolve(run.getStore()))
  run.run('run-1', () => watch?.add('run-1', ['request-1']))
  const hold = setInterval(() => {}, 1_000)
  expect(await told.promise).toBeUndefined()
  clearInterval(hold)
})
