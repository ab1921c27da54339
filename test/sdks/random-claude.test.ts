/**
 * Random queries of the real Claude Code, on scripted models: with tools of all kinds, agents, users who permit, hook, interrupt
 * and leave, and models that fail: bare, and observed.
 */
import fc from 'fast-check'
import { it } from 'vitest'
import { expectAlike } from './random-claude/alike.ts'
import { plan } from './random-claude/plan.ts'
import { expectAskedFor, expectAskedOnce, expectWhole, watch } from './random-claude/watch.ts'
import { happen } from './random-claude/world.ts'

const { CLAUDE_RUNS, CLAUDE_SEED = CLAUDE_RUNS ? undefined : '1', CLAUDE_PATH, CLAUDE_BARE } = process.env
/** Always the same few. More of them look further: `CLAUDE_RUNS=500`; `CLAUDE_SEED` and `CLAUDE_PATH` are those of a run that failed. */
const runs = {
  numRuns: Number(CLAUDE_RUNS ?? 2),
  ...(CLAUDE_SEED && { seed: Number(CLAUDE_SEED) }),
  ...(CLAUDE_PATH && { path: CLAUDE_PATH }),
  endOnFailure: true,
}

it('a caller sees the same of a query that is observed, and it is told whole', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (asked) => {
      const bare = await happen(asked)
      if (CLAUDE_BARE) return expectAlike(asked, bare, await happen(asked))
      const { seen, told } = await watch([], (dispatcher) => happen(asked, dispatcher))
      expectAlike(asked, bare, seen)
      expectWhole(told)
      if (asked.queries.some(({ ending }) => ending !== undefined)) return
      expectAskedFor(told)
      for (const [index, { fault }] of asked.queries.entries()) {
        const { contract = 0 } = (seen[index] as (typeof seen)[number]).requests
        const isAskedAgain = fault !== undefined && fault.how !== 'down' && fault.at < contract
        expectAskedOnce(told, `q${index}`, isAskedAgain ? contract - 1 : contract)
      }
    }),
    runs,
  )
}, 3_600_000)
