import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { expectHeld } from './durable-model/held.ts'
import {
  type CallPlan,
  type LifePlan,
  livesPlan,
  type RunPlan,
  runPlan,
  type ToolKind,
} from './durable-model/plan.ts'
import { World } from './durable-model/world.ts'

/** More of them look further: `DURABLE_RUNS=5000`; `DURABLE_SEED` has the same ones again, with `DURABLE_PATH` the one that failed. */
const RUNS = Number(process.env.DURABLE_RUNS ?? 10)
const { DURABLE_SEED: seed, DURABLE_PATH: path } = process.env

const tool = (kind: ToolKind, turns = 0, afterMs = 0): CallPlan => ({ kind, turns, afterMs })
const agent = (...steps: CallPlan[][]): CallPlan => ({ kind: 'agent', agent: { steps } })

const run = (what: RunPlan['what'], steps: CallPlan[][], more: Partial<RunPlan> = {}): RunPlan => ({
  what,
  agent: { steps },
  limit: undefined,
  compacts: false,
  suspends: false,
  forgets: false,
  ...more,
})

const LIMIT_MS = Math.max(120_000, RUNS * 300)

/** An end at each moment between two, so that none is left to chance. */
const each = (
  end: LifePlan['end'],
  from: number,
  to: number,
  plan: RunPlan,
  ...then: LifePlan[]
): [RunPlan, LifePlan[]][] =>
  Array.from({ length: to - from }, (_, at) => [plan, [{ end, moment: from + at }, ...then]])

/** What was wrong once. */
const FOUND: [RunPlan, LifePlan[]][] = [
  // It was lost before it began, and was begun all the same.
  [run('agent', [[tool('plain')]]), [{ end: 'is followed', moment: 0 }]],
  // Who had lost the run cancelled what it had asked, for which the next attempt waited; or told of an approved call that it failed.
  ...each('is followed', 18, 48, run('agent', [[tool('asks'), tool('unanswered'), tool('plain')]])),
  // It was cancelled as it was about to wait, and waited for ever.
  ...each('is cancelled', 20, 48, run('loop', [[tool('unanswered'), tool('plain')]])),
  // It was cancelled after its process had died in its first turn, whose step nobody ended.
  ...each('dies', 4, 18, run('loop', [[tool('plain')]]), { end: 'dies', moment: 0, cancelled: true }),
  // It was cancelled after its process had died between the end of a question and that of its call, which nobody ended.
  ...(['agent', 'loop'] as const).flatMap((what) => {
    const cancelled: LifePlan = { end: 'dies', moment: 1_000, cancelled: true }
    return [false, true].flatMap((forgets) =>
      each(
        'dies',
        18,
        36,
        run(what, [[tool('asks', 0, 500), tool('asks')]], { forgets }),
        cancelled,
        cancelled,
      ),
    )
  }),
  // The same of a loop's next turn, whose model call was not kept.
  [
    run('loop', [[tool('plain')]]),
    [
      { end: 'dies', moment: 39 },
      { end: 'dies', moment: 0, cancelled: true },
    ],
  ],
  // A human had stopped it when its process died with a sub-agent at work: who went on threw, each time.
  ...each('dies', 20, 44, run('agent', [[agent(), tool('stops')]])),
  // A human stopped it while a sub-agent waited, too, of which nobody told the end.
  [
    run('agent', [[agent([tool('stops', 0, 100_000), agent([tool('asks', 0, 100_000)])])], [tool('plain')]]),
    [],
  ],
  // Its process died as it ended, cancelled, between what came of a sub-agent's call and the end of that one's run.
  ...each('dies', 4, 24, run('agent', [[agent([tool('plain', 2), tool('unanswered')])]])).map(
    ([plan, [dies]]): [RunPlan, LifePlan[]] => [
      plan,
      [
        { end: 'dies', moment: 40 },
        { ...(dies as LifePlan), cancelled: true },
      ],
    ],
  ),
  // Cancelled as it went on, it did not end what a sub-agent had begun.
  [
    run(
      'agent',
      [[agent([agent()]), agent([tool('refused', 0, 5_000), tool('refused', 0, 100_000)])], [tool('plain')]],
      {
        forgets: true,
      },
    ),
    [
      { end: 'dies', moment: 22 },
      { end: 'dies', moment: 59 },
      { end: 'is cancelled', moment: 41 },
    ],
  ],
]

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it(
  'is one run on an engine, whichever attempts it went through and however they ended',
  async () => {
    const tallies = new Map<string, number>()
    const tally = (what: string) => void tallies.set(what, (tallies.get(what) ?? 0) + 1)
    await fc.assert(
      fc.asyncProperty(runPlan, livesPlan, async (plan, lives) => {
        const world = new World(plan, tally)
        const left: (LifePlan | undefined)[] = [...lives]
        for (let life = 0; life < 200; life++) {
          const ended = await world.live(left.shift())
          if (typeof ended === 'string' && ended !== 'ended') continue
          tally(ended === 'ended' ? ended : `${plan.what} ${ended.reason}`)
          world.over = true
          return expectHeld(world, ended)
        }
        throw new Error('The run does not end.')
      }),
      {
        numRuns: RUNS + FOUND.length,
        // A run that does not end is looked at for long: what was found by then is told.
        interruptAfterTimeLimit: LIMIT_MS - 10_000,
        markInterruptAsFailure: true,
        examples: FOUND,
        ...(seed && { seed: Number(seed) }),
        ...(path && { path }),
      },
    )
    if (process.env.DURABLE_TALLY)
      console.log(
        [...tallies]
          .sort()
          .map((one) => one.join(': '))
          .join('\n'),
      )
    expect(tallies.size).toBeGreaterThan(10)
  },
  LIMIT_MS,
)
