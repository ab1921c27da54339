/** A loop of one's own on an engine, whose tool a human has approved. */
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { expect, it } from 'vitest'
import type { DurableLoop, LoopRun } from '../../src/durable/loop-run.ts'
import { DURABLE_FIELDS } from '../../src/durable/options.ts'
import { DurableRuns } from '../../src/durable/runs.ts'
import { Journal, MemoryEngine } from './durable-model/engine.ts'

const never = () => new Promise<never>(() => {})

it('runs a tool that a human has approved where the process died before the engine had that it is at work', async () => {
  const journal = new Journal()
  const store = memoryStore()
  const ran: string[] = []
  const outcomes: string[] = []
  let isApproved = false
  const attempt = async (dies: boolean) => {
    const ended = Promise.withResolvers<'ended'>()
    let parts = 0
    const approvals = createApprovals({ store, mode: 'park' })
    const engine = new MemoryEngine(journal, {
      suspends: true,
      forgets: false,
      moment: async (what) => {
        // The first of them is the look for the answer.
        if (!dies || !isApproved || what !== 'after a part' || parts++ < 1) return
        ended.resolve('ended')
        await never()
      },
      wait: async ([id = '']) => {
        await approvals.respond(id, { decision: 'approve' })
        isApproved = true
      },
      suspend: () => ended.resolve('ended'),
      hasLost: () => false,
    })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'refund' })] })
    const agent = async (run: LoopRun) => {
      await run.step(async (step) => {
        const outcome = await step.toolCall({ apiName: 'refund', args: {}, run: () => ran.push('refund') })
        outcomes.push(outcome.state)
      })
    }
    const options = { name: 'shop', dispatcher, agent: agent as unknown as DurableLoop }
    const runs = DurableRuns.of(options, DURABLE_FIELDS, () => undefined)
    return Promise.race([runs.run(engine, 'run-1', { prompt: 'go' }), ended.promise])
  }
  expect(await attempt(false)).toBe('ended')
  expect(await attempt(true)).toBe('ended')
  expect(ran).toEqual([])
  expect(await attempt(false)).toMatchObject({ reason: 'done' })
  expect([ran, outcomes.at(-1)]).toEqual([['refund'], 'completed'])
})
