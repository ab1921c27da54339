/**
 * Random sessions of the real Copilot, on scripted models: with tools of all kinds, users who permit, hook, say more, abort and
 * leave, and models that fail: bare, and observed.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { expectAskedFor, expectWhole, watch } from './random-claude/watch.ts'
import { type Plan, plan } from './random-copilot/plan.ts'
import { happen, type Seen } from './random-copilot/world.ts'

const {
  COPILOT_RUNS,
  COPILOT_SEED = COPILOT_RUNS ? undefined : '1',
  COPILOT_PATH,
  COPILOT_BARE,
} = process.env
/** Always the same few. More of them look further: `COPILOT_RUNS=500`; `COPILOT_SEED` and `COPILOT_PATH` are those of a run that failed. */
const runs = {
  numRuns: Number(COPILOT_RUNS ?? 4),
  ...(COPILOT_SEED && { seed: Number(COPILOT_SEED) }),
  ...(COPILOT_PATH && { path: COPILOT_PATH }),
  endOnFailure: true,
}

/** What goes on at once is shown in any order. */
const comparable = ({ shown, asked, bodies, told, requests }: Seen) => ({
  said: shown.filter((line) => !OF_TOOLS.test(line)),
  tools: shown.filter((line) => OF_TOOLS.test(line)).sort(),
  asked: asked.toSorted(),
  bodies: bodies.toSorted(),
  told,
  requests,
})
const OF_TOOLS = /"type":"(tool|permission|external_tool)/

/** Of what somebody ends, as far as it came. */
function expectAlike({ sessions }: Plan, bare: readonly Seen[], observed: readonly Seen[]): void {
  for (const [index, { ending, fault }] of sessions.entries()) {
    const [was, is] = [bare[index], observed[index]].map((seen) => comparable(seen as Seen)) as [Told, Told]
    // A turn ends before or after it is aborted.
    const isEither = (line: string) => ending !== undefined && line === '{"type":"assistant.turn_end"}'
    // After an error it may come when the session is left already.
    const isLate = (line: string) => fault !== undefined && line === '{"type":"session.idle"}'
    for (const one of [was, is]) one.said = one.said.filter((line) => !isLate(line) && !isEither(line))
    if (ending === undefined) {
      expect(is).toEqual(was)
      continue
    }
    const both = Math.min(is.said.length, was.said.length) - 1
    expect([ending, ...is.said.slice(0, both)]).toEqual([ending, ...was.said.slice(0, both)])
    expect([ending, is.said.at(-1)]).toEqual([ending, was.said.at(-1)])
  }
}

type Told = ReturnType<typeof comparable>

it('a caller sees the same of a session that is observed, and it is told whole', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (asked: Plan) => {
      const bare = await happen(asked)
      if (COPILOT_BARE) return expectAlike(asked, bare, await happen(asked))
      const { seen, told } = await watch([], (dispatcher) => happen(asked, dispatcher))
      expectAlike(asked, bare, seen)
      expectWhole(told)
      if (asked.sessions.every(({ ending }) => ending === undefined)) expectAskedFor(told)
    }),
    runs,
  )
}, 3_600_000)
