/**
 * Runs on a real Restate, on a real DBOS and Postgres and on a real Temporal, and what is held of them when something is killed: the
 * worker at each of its boundaries (after a line that it has said: a span, a hook, a tool, the store, the journal), the engine and both
 * at moments drawn at random. `HOOKSPAN_KILLS` says how many, over all engines. One that is not here is left out, and said.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { DbosScene, postgresOfSuite } from './support/dbos-scene.ts'
import { expectHeld, toldAgain } from './support/held.ts'
import { KillRows, whatItWas } from './support/kill-rows.ts'
import { postgresPrograms, WITHOUT_POSTGRES } from './support/postgres.ts'
import { RestateScene, restateOfSuite } from './support/restate-scene.ts'
import { asks, begins, type Ended, type Scene, toldBy } from './support/scene.ts'
import { temporalProgram, WITHOUT_TEMPORAL } from './support/temporal-program.ts'
import { TemporalScene, temporalOfSuite } from './support/temporal-scene.ts'

const KILLS = Number(process.env.HOOKSPAN_KILLS ?? 18)
/** Long enough to be killed in. */
const TOOL_MS = '60'
/** Others each day, so that in time there are all of them; `HOOKSPAN_KILL_SEED` has the same ones again. */
const SEED = Number(process.env.HOOKSPAN_KILL_SEED ?? Math.floor(Date.now() / 86_400_000))

const rows = new KillRows()
const restate = restateOfSuite()
const postgres = postgresPrograms === undefined ? undefined : postgresOfSuite()
const temporal = temporalProgram === undefined ? undefined : temporalOfSuite()
afterAll(() => rows.print())

/** One run of the scenario, on an engine. */
interface Run {
  readonly scene: Scene
  readonly id: string
  /** Starts its worker, and begins the run where that is not begun. */
  start(env?: NodeJS.ProcessEnv): Promise<void>
  output(): Promise<Ended>
}

interface Engine {
  open(what: string): Promise<Run>
  kill(): Promise<void>
  start(): Promise<void>
}

/** A run that its engine knows by a name. */
function named(scene: RestateScene | TemporalScene, id: string): Run {
  return {
    scene,
    id,
    async start(env = { TOOL_MS }) {
      await scene.start(env)
      // It has begun where this is another worker of it; and one that is to be killed may be gone before it is told.
      await scene.begin(id).catch(() => {})
    },
    output: () => scene.output(id),
  }
}

const ENGINES: Record<string, Engine> = {
  Restate: {
    async open(what) {
      const scene = await RestateScene.open(restate.server, what)
      return named(scene, `${scene.service}-run`)
    },
    kill: () => restate.server.kill(),
    start: () => restate.server.start(),
  },
  ...(postgres && {
    DBOS: {
      async open(what) {
        const scene = new DbosScene(postgres.server, what)
        return {
          scene,
          id: scene.id,
          async start(env = { TOOL_MS }) {
            scene.start(env)
            await scene.upOrGone()
          },
          output: () => scene.output(),
        }
      },
      kill: () => postgres.server.kill(),
      start: () => postgres.server.start(),
    },
  }),
  ...(temporal && {
    Temporal: {
      async open(what) {
        const scene = new TemporalScene(temporal, what)
        return named(scene, `${scene.queue}-run`)
      },
      kill: () => temporal.server.kill(),
      start: () => temporal.server.start(),
    },
  }),
}

/** Of each engine an agent and a loop; of each the worker, the engine and both. */
const EACH = Math.max(1, Math.floor(KILLS / (Object.keys(ENGINES).length * 2 * 3)))
/** Time enough for each, on a machine that is busy with something else. */
const PATIENCE = { timeout: 300_000 + EACH * 60_000 }

const MOMENTS = [
  { name: 'parallel tools', begun: begins('write') },
  { name: 'a sub-agent', begun: begins('note') },
  { name: 'a wait for a human', begun: asks },
]

/** Waits for the run's end, and answers for its human. */
async function toItsEnd({ scene, id, output }: Run, kills: number): Promise<string> {
  const human = scene.human()
  const ended = await output()
  await human.goes()
  expect([id, ended.reason]).toEqual([id, 'done'])
  const told = toldBy(ended)
  expectHeld(expect, { lines: scene.lines, operationId: id, told, kills })
  return told
}

/** How many lines a process says when nothing is killed. */
async function saidBy(engine: Engine, what: string): Promise<number> {
  const run = await engine.open(what)
  await run.start()
  await toItsEnd(run, 0)
  expect(toldAgain(run.scene.lines)).toBe(0)
  const { length } = run.scene.lines
  await run.scene.close()
  return length
}

const evenly = (count: number, of: number, shift: number) =>
  Array.from({ length: count }, (_, nth) => 2 + ((Math.floor((nth * of) / count) + shift) % of))

const onEngines = Object.keys(ENGINES).flatMap((name) =>
  ['agent', 'loop'].map((what) => [name, what] as const),
)

it.skipIf(postgres !== undefined)(`on DBOS${WITHOUT_POSTGRES}`, () => {})
it.skipIf(temporal !== undefined)(`on Temporal${WITHOUT_TEMPORAL}`, () => {})

describe.each(onEngines)('on %s, a durable %s', (name, what) => {
  const engine = ENGINES[name] as Engine

  it(`is killed after ${EACH} of the things that its worker does`, PATIENCE, async () => {
    const length = await saidBy(engine, what)
    const next = evenly(EACH, length - 2, SEED).values()
    const lane = async () => {
      for (const point of next) {
        const run = await engine.open(what)
        const { scene } = run
        const human = scene.human()
        await run.start({ TOOL_MS, KILL_AFTER: String(point) }).catch(() => {})
        await scene.worker.ended()
        await human.goes()
        const at = whatItWas(scene.lines.at(-1))
        await run.start()
        rows.note(`${name}, ${what}: worker, after ${at}`, 1, await toItsEnd(run, 1), scene.lines)
        await scene.close()
      }
    }
    await Promise.all([lane(), lane(), lane()])
  })

  it.each(MOMENTS.filter((moment) => what === 'agent' || moment.name !== 'a sub-agent'))(
    'is killed during $name: the worker, the engine, both',
    async ({ name: during, begun }) => {
      for (const killed of ['worker', 'engine', 'both']) {
        const run = await engine.open(what)
        await run.start({ TOOL_MS: '700' })
        await run.scene.said(begun)
        if (killed !== 'worker') await engine.kill()
        if (killed !== 'engine') await run.scene.worker.kill()
        if (killed !== 'worker') await engine.start()
        if (killed !== 'engine') await run.start()
        const told = await toItsEnd(run, 1)
        rows.note(`${name}, ${what}: ${killed}, during ${during}`, 1, told, run.scene.lines)
        await run.scene.close()
      }
    },
  )

  it.each(['engine', 'worker and engine'])(`has its %s killed ${EACH} times`, PATIENCE, async (killed) => {
    for (let left = EACH; left > 0; left -= 2) {
      const run = await engine.open(what)
      const { scene } = run
      await run.start()
      const kills = Math.min(left, 2)
      for (let kill = 0; kill < kills; kill++) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 500))
        if (killed !== 'engine') await Promise.all([scene.worker.kill(), engine.kill()])
        else await engine.kill()
        // The human answers meanwhile.
        if (kill === 1) await scene.answerNow()
        await engine.start()
        if (killed !== 'engine') await run.start()
      }
      rows.note(`${name}, ${what}: ${killed}, at random`, kills, await toItsEnd(run, kills), scene.lines)
      await scene.close()
    }
  })
})
