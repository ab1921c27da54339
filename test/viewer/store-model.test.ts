/** Random traffic into real stores on a file, and all that they answer, against a plain model of what was sent. */
import { expect, it } from 'vitest'
import { RUN_STATUSES } from '../../src/viewer/model/span.ts'
import { Player } from './store-model/player.ts'
import { randomWorld } from './store-model/world.ts'

/** More of them look further: `MODEL_RUNS=5000`, `MODEL_SEED=17` for one of them. */
const RUNS = Number(process.env.MODEL_RUNS ?? 20)
const FIRST = Number(process.env.MODEL_SEED ?? 1)

/** What has to have happened, or the runs were trivial. */
const HAPPENS = [
  'logs',
  'opens',
  'closes',
  'indexes',
  'looks',
  'removes',
  'makes room',
  'marks',
  'waits',
  'keeps a segment',
  'remembers what is gone',
  ...RUN_STATUSES,
]

it(
  'answers as what was sent says, however it came',
  () => {
    const seen = new Set<string>()
    for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
      const player = new Player()
      try {
        player.play(randomWorld(seed))
      } catch (error) {
        throw new Error(`MODEL_SEED=${seed} MODEL_RUNS=1: ${(error as Error).message}`, { cause: error })
      }
      for (const what of player.seen) seen.add(what)
    }
    if (RUNS >= 20) expect([...seen]).toEqual(expect.arrayContaining(HAPPENS))
  },
  Math.max(60_000, RUNS * 2_000),
)
