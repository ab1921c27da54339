/** Mutates every recorded run of tau-bench and tau2-bench, replays the mutants, and prints which were found. */

import { isNamed, MUTATIONS, mutantsOf } from '../test/mock/support/mutate.ts'
import { readPlans, replay, toRecording } from '../test/mock/support/recorded-runs.ts'
import { recordingsFolder } from '../test/support/recordings-folder.ts'

const folder = recordingsFolder()
if (folder === undefined) process.exit(0)

const startedAt = performance.now()
const plans = await readPlans(folder)
const table = Object.fromEntries(
  MUTATIONS.map((mutation) => [mutation, { mutants: 0, found: 0, named: 0, 'live calls': 0 }]),
)
const missed: string[] = []
const clean = { runs: plans.length, recorded: 0, served: 0, live: 0, unused: 0 }
for (const plan of plans) {
  const recording = toRecording(plan)
  const { report, live } = await replay(plan, recording)
  clean.recorded += report.recorded
  clean.served += report.served
  clean.live += live
  clean.unused += report.divergences.length
  const positions = new Set([0, Math.floor(plan.calls.length / 2), Math.max(0, plan.calls.length - 2)])
  for (const mutant of mutantsOf(plan, [...positions])) {
    const row = table[mutant.mutation] as {
      mutants: number
      found: number
      named: number
      'live calls': number
    }
    const result = await replay(mutant.plan, recording)
    const named = isNamed(mutant, result.report.divergences)
    row.mutants++
    row['live calls'] += result.live
    if (result.failure !== undefined) row.found++
    if (named) row.named++
    if (result.failure === undefined || !named || result.live > 0)
      missed.push(`${mutant.mutation} in ${mutant.plan.name}`)
  }
}
console.log('Unmutated runs:')
console.table([clean])
console.log('Mutants:')
console.table(table)
const mutants = Object.values(table).reduce((sum, row) => sum + row.mutants, 0)
console.log(
  `${mutants} mutants of ${plans.length} runs, ${missed.length} missed, ${Math.round(performance.now() - startedAt)} ms`,
)
for (const one of missed) console.log(`missed: ${one}`)
const whole = clean.served === clean.recorded && clean.live === 0 && clean.unused === 0
if (missed.length > 0 || !whole || mutants < 200) process.exitCode = 1
