/**
 * Random callers of the real clients (their ESM and their CommonJS), on endpoints that answer, fail, break off and stand still
 * at random: bare, and observed.
 */
import fc from 'fast-check'
import { beforeAll, expect, it, vi } from 'vitest'
import { expectUnderGate } from './random-clients/alike.ts'
import { plan } from './random-clients/plan.ts'
import { approver, expectHeld, gatesOf, verdicts } from './random-clients/verdicts.ts'
import { expectTold, MODES, watch } from './random-clients/watch.ts'
import { happen } from './random-clients/world.ts'

/** More of them look further: `RANDOM_CLIENTS=5000`. */
const runs = { numRuns: Number(process.env.RANDOM_CLIENTS ?? 50) }

const rejections: unknown[] = []
beforeAll(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  const note = (error: unknown) => void rejections.push(error)
  process.on('unhandledRejection', note)
  return () => void process.off('unhandledRejection', note)
})

/** That nobody handled. */
async function expectNoRejections(): Promise<void> {
  await new Promise(setImmediate)
  expect(rejections.splice(0)).toEqual([])
}

it.each([
  ['observers that misbehave', MODES.observers],
  ['gates that only watch', MODES.shadows],
  ['gates that proceed', MODES.proceeding],
])(
  'a caller sees and sends the same under %s',
  async (_name, gates) => {
    await fc.assert(
      fc.asyncProperty(plan, async (asked) => {
        const bare = await happen(asked)
        await expectNoRejections()
        const watched = await watch(asked, gates)
        asked.calls.forEach((call, index) => {
          const [was, is] = [bare, watched.seen].map(({ calls }) => calls[index] as (typeof calls)[number])
          if (gates === MODES.proceeding) expectUnderGate(call, was as never, is as never)
          else expect(is).toEqual(was)
        })
        expectTold(asked, watched)
        await expectNoRejections()
      }),
      runs,
    )
  },
  600_000,
)

it('a caller sees nothing of what a gate withholds, however he reads, and nothing is sent that was refused', async () => {
  await fc.assert(
    fc.asyncProperty(plan, verdicts, async (asked, verdict) => {
      const watched = await watch(asked, gatesOf(verdict), approver(verdict))
      expectHeld(asked, verdict, watched)
      expectTold(asked, watched)
      await expectNoRejections()
    }),
    runs,
  )
}, 600_000)
