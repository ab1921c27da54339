import { describe, expect, it } from 'vitest'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { isNamed, mutantsOf } from './support/mutate.ts'
import { type Plan, readPlans, replay, toRecording } from './support/recorded-runs.ts'

const folder = recordingsFolder()

describe.skipIf(folder === undefined)('recorded runs of tau-bench and tau2-bench', () => {
  let plans: Plan[]
  const load = async () => {
    plans ??= await readPlans(folder as string)
    return plans
  }

  it('are replayed whole: every call served, none live, none unused', { timeout: 120_000 }, async () => {
    const totals = { runs: 0, recorded: 0, served: 0, live: 0, wrong: 0, divergences: 0 }
    for (const plan of await load()) {
      const { report, live, wrong, failure } = await replay(plan, toRecording(plan))
      expect(failure).toBeUndefined()
      totals.runs++
      totals.recorded += report.recorded
      totals.served += report.served
      totals.live += live
      totals.wrong += wrong
      totals.divergences += report.divergences.length
    }
    expect(totals.runs).toBeGreaterThan(300)
    expect(totals.recorded).toBeGreaterThan(3_000)
    expect(totals).toMatchObject({ served: totals.recorded, live: 0, wrong: 0, divergences: 0 })
  })

  it('are not followed by their mutants, and each is named (all of them: npm run test:wrong-recordings)', {
    timeout: 60_000,
  }, async () => {
    const mutants = (await load()).slice(0, 60).flatMap((plan) =>
      mutantsOf(plan, [Math.floor(plan.calls.length / 2)]).map((mutant) => ({
        mutant,
        recording: toRecording(plan),
      })),
    )
    expect(mutants.length).toBeGreaterThan(150)
    for (const { mutant, recording } of mutants) {
      const { report, failure, live } = await replay(mutant.plan, recording)
      expect({
        mutation: mutant.mutation,
        in: mutant.plan.name,
        named: isNamed(mutant, report.divergences),
        live,
      }).toEqual({ mutation: mutant.mutation, in: mutant.plan.name, named: true, live: 0 })
      expect(failure).toBeDefined()
    }
  })
})
