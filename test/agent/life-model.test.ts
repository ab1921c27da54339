import fc from 'fast-check'
import { expect, it } from 'vitest'
import { untilSeen } from '../support/until-seen.ts'
import { expectAborted, expectOneRun } from './life-model/invariants.ts'
import { type AgentPlan, agentPlan, type CallPlan, type LifePlan, livesPlan } from './life-model/plan.ts'
import { ID, World } from './life-model/world.ts'

/** More of them look further: `MODEL_RUNS=5000`. */
const RUNS = Number(process.env.MODEL_RUNS ?? 20)

const plain = (turns = 0) => ({ kind: 'plain', turns }) as const
const asks = (kind: 'asks' | 'asks_later' | 'refused') => ({ kind, turns: 0 }) as const
const agent = (...steps: CallPlan[][]) => ({ kind: 'agent', agent: { steps } }) as const

/** What is always tried: deaths everywhere, and what was wrong once. */
const FOUND: [AgentPlan, LifePlan[]][] = [
  // A death at each moment of one run, so that none is left to chance.
  ...Array.from({ length: 36 }, (_, moment): [AgentPlan, LifePlan[]] => [
    { steps: [[asks('asks'), plain(1), agent([plain()])]] },
    [{ end: 'dies', moment }],
  ]),
  // Its process died between a human's no and the record that has it: the human was asked once more.
  ...Array.from({ length: 4 }, (_, moment): [AgentPlan, LifePlan[]] => [
    { steps: [[plain(1), asks('asks'), asks('refused')]] },
    [{ end: 'dies', moment: moment + 17 }],
  ]),
  // Aborted while a call waited for a human: the run waited, too, and of a sub-agent that waited nobody told the end.
  [{ steps: [[agent([asks('asks_later')]), plain(40)]] }, [{ end: 'is aborted', moment: 24 }]],
  [{ steps: [[asks('asks_later'), plain()]] }, [{ end: 'is aborted', moment: 14 }]],
  // Not saved while a call waited: its span ended twice.
  [{ steps: [[asks('asks_later'), plain()]] }, [{ end: 'cannot save', moment: 7 }]],
  // Aborted while the run of a sub-agent was parked: it was saved as one that waits, and ended after its call.
  [
    {
      steps: [
        [
          plain(),
          agent(
            [agent([plain(), asks('asks')]), { kind: 'asks', turns: 1 }, plain()],
            [agent([plain(), asks('asks_later'), plain(1)]), plain()],
          ),
        ],
      ],
    },
    [
      { end: 'dies', moment: 47 },
      { end: 'dies', moment: 36 },
      { end: 'is aborted', moment: 29 },
    ],
  ],
  // Dead between the end of a sub-agent and that of its call: whoever ended the run had the sub-agent's span below itself.
  [
    {
      steps: [[agent(), agent([plain(), agent(), agent([plain()])]), plain()], [plain()]],
    },
    [
      { end: 'dies', moment: 50 },
      { end: 'cannot save', moment: 0 },
    ],
  ],
]

const ENDS = [
  'dies at a gate',
  'done done',
  'interrupted interrupted',
  'error error',
  'waiting_for_human waiting',
]

/** What has to have happened, or the runs were trivial. */
const PLACES = ['a reply', 'a record', 'a tool', 'a question'].flatMap((place) => [
  `dies before ${place}`,
  `dies after ${place}`,
])

it(
  'is one run, whichever processes it went through and however they ended',
  async () => {
    const tallies = new Map<string, number>()
    const tally = (what: string) => void tallies.set(what, (tallies.get(what) ?? 0) + 1)
    const round = () =>
      fc.assert(
        fc.asyncProperty(agentPlan, livesPlan, async (plan, lives) => {
          const world = new World(plan, tally)
          const left: (LifePlan | undefined)[] = [...lives]
          for (;;) {
            const run = await world.live(left.shift())
            if (run !== 'died') tally(`${run.status} ${run.reason}`)
            expectAborted(world, run)
            if (run !== 'died' && run.status === 'done') {
              expectOneRun(world, run)
              return
            }
            // It died when the run had been forgotten: nobody goes on with it.
            if (run === 'died' && !world.store.runs.has(ID) && world.hasEnded) return
            // A process without a plan ends only where the run does, or waits.
            if (run === 'died' || run.status !== 'waiting_for_human')
              expect(world.lives.at(-1)?.plan).toBeDefined()
          }
        }),
        { numRuns: RUNS + FOUND.length, examples: FOUND },
      )
    const missing = () => [...PLACES, ...ENDS].filter((what) => !tallies.has(what))
    await untilSeen(() => missing().length === 0, round)
    expect(missing()).toEqual([])
  },
  Math.max(60_000, RUNS * 200),
)
