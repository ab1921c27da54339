import fc from 'fast-check'
import { GATE_POINTS } from 'hookspan/gates'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { untilSeen } from '../support/until-seen.ts'
import { commands, finish } from './run-model/commands.ts'
import { expectWhole } from './run-model/invariants.ts'
import { GATE_KINDS, HUMAN_KINDS } from './run-model/specs.ts'
import { World, type WorldSetting } from './run-model/world.ts'

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
)
afterEach(() => void vi.useRealTimers())

/** More of them look further: `MODEL_RUNS=5000`. */
const RUNS = Number(process.env.MODEL_RUNS ?? 80)

const setting: fc.Arbitrary<WorldSetting> = fc.record({
  points: fc.oneof(
    { weight: 3, arbitrary: fc.constant([...GATE_POINTS]) },
    { weight: 1, arbitrary: fc.subarray([...GATE_POINTS], { minLength: 1 }) },
  ),
  composition: fc.constantFrom('chain', 'chain', 'firstDecision'),
  mocks: fc.boolean(),
  hooks: fc.constantFrom(true, true, true, false),
  traced: fc.constantFrom(true, true, true, false),
  ledger: fc.boolean(),
})

/** What has to have happened in the runs, or they were trivial. */
const KINDS = [
  ...GATE_POINTS.map((point) => `${point}: `),
  ...GATE_KINDS.map((kind) => ` ${kind}`),
  ...HUMAN_KINDS.map((kind) => `human ${kind}`),
  ...['completed', 'mocked', 'skipped', 'errored', 'denied', 'rejected', 'waiting'].map(
    (end) => `tool ${end}`,
  ),
  ...['tool', 'llm', 'agent', 'compact'].flatMap((kind) => [`${kind} opened`, `${kind} told`]),
  ...['step opened', 'question opened', 'question withdrawn'],
  ...['tool runs', 'llm runs', 'agent runs', 'compact runs', 'parks', 'goes on'],
  ...['complete', 'fail', 'interrupt', 'abort'],
]

it(
  'keeps runs whole in any mix of calls, gates, mocks, humans, streams, sub-agents, parks and ends',
  async () => {
    const tallies = new Map<string, number>()
    const missing = () => KINDS.filter((kind) => ![...tallies.keys()].some((what) => what.includes(kind)))
    await untilSeen(
      () => missing().length === 0,
      () =>
        fc.assert(
          fc.asyncProperty(
            setting,
            fc.noBias(fc.commands(commands, { maxCommands: 100, size: 'max' })),
            async (chosen, steps) => {
              // What a run that failed left behind must not fail the smaller ones that are tried next.
              vi.clearAllTimers()
              const world = new World(chosen, tallies)
              await fc.asyncModelRun(() => ({ model: world, real: world }), steps)
              await finish(world)
              expectWhole(world)
            },
          ),
          { numRuns: RUNS },
        ),
    )
    expect(missing()).toEqual([])
  },
  Math.max(120_000, RUNS * 200),
)
