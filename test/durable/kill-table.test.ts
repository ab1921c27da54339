/**
 * Runs on a real Restate, and what is held of them when something is killed: the worker at each of its boundaries (after a line that
 * it has said: a span, a hook, a tool, the store, the journal), the engine and both at moments drawn at random. `HOOKSPAN_KILLS`
 * says how many.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectHeld, toldAgain } from './support/held.ts'
import { RestateScene } from './support/restate-scene.ts'
import { RestateServer } from './support/restate-server.ts'
import type { Line } from './support/scenario.ts'

const KILLS = Number(process.env.HOOKSPAN_KILLS ?? 24)
/** Time enough for each, on a machine that is busy with something else. */
const PATIENCE = { timeout: 300_000 + KILLS * 20_000 }
/** Long enough to be killed in. */
const TOOL_MS = '60'

interface Row {
  killed: string
  times: number
  unknown: number
  toldAgain: number
}
const rows: Row[] = []

const folder = mkdtempSync(`${tmpdir()}/hookspan-kills-`)
let server: RestateServer
beforeAll(async () => {
  server = await RestateServer.start(folder)
})
afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true, force: true })
  const cells = [
    ['what was killed', 'times', 'runs told execution_unknown', 'events told again'],
    ...rows.map(Object.values),
  ]
  console.log(cells.map((row) => row.map((cell) => String(cell).padEnd(42)).join('')).join('\n'))
})

const whatItWas = (line: Line | undefined): string => {
  if (line === undefined) return 'nothing'
  if ('span' in line) return `span ${line.span}`
  if ('hookType' in line) return 'hook'
  if ('tool' in line) return `tool ${line.phase}`
  return line.mark.replace(/ \S.*/, '')
}

function note(killed: string, told: string, lines: readonly Line[]): void {
  const row = rows.find((one) => one.killed === killed) ?? { killed, times: 0, unknown: 0, toldAgain: 0 }
  if (!rows.includes(row)) rows.push(row)
  row.times++
  if (told.includes('execution_unknown')) row.unknown++
  row.toldAgain += toldAgain(lines)
}

const begins = (name: string) => (line: Line) =>
  'tool' in line && line.tool === name && line.phase === 'begin'

const MOMENTS = [
  { name: 'parallel tools', begun: begins('write') },
  { name: 'a sub-agent', begun: begins('note') },
  { name: 'a wait for a human', begun: (line: Line) => 'mark' in line && line.mark === 'store add' },
]

interface Ended {
  readonly reason: string
  readonly content?: string
  readonly value?: string
}

/** Waits for the run's end, and answers for its human. */
async function toItsEnd(scene: RestateScene, key: string): Promise<string> {
  const human = scene.human()
  const { reason, content, value } = await scene.output<Ended>(key)
  await human.goes()
  expect([key, reason]).toEqual([key, 'done'])
  return content ?? value ?? ''
}

/** How many lines a process says when nothing is killed. */
async function saidBy(what: string): Promise<number> {
  const scene = await RestateScene.open(server, what)
  await scene.start({ TOOL_MS })
  await scene.begin('whole')
  const told = await toItsEnd(scene, 'whole')
  expectHeld(expect, { lines: scene.lines, operationId: 'whole', told, kills: 0 })
  expect(toldAgain(scene.lines)).toBe(0)
  const { length } = scene.lines
  await scene.close()
  return length
}

const evenly = (count: number, of: number, shift: number) =>
  Array.from({ length: count }, (_, nth) => 2 + ((Math.floor((nth * of) / count) + shift) % of))

describe.each(['agent', 'loop'])('a durable %s', (what) => {
  const third = Math.max(1, Math.round(KILLS / 6))
  it(`is killed after ${2 * third} of the things that its worker does`, PATIENCE, async () => {
    const length = await saidBy(what)
    // Others each day, so that in time there are all of them; `HOOKSPAN_KILL_SEED` has the same ones again.
    const seed = Number(process.env.HOOKSPAN_KILL_SEED ?? Math.floor(Date.now() / 86_400_000))
    const points = evenly(2 * third, length - 2, seed)
    const next = points.values()
    const lane = async () => {
      for (const point of next) {
        const scene = await RestateScene.open(server, what)
        await scene.start({ TOOL_MS, KILL_AFTER: String(point) })
        await scene.begin(`run-${point}`).catch(() => {})
        const human = scene.human()
        await scene.worker.ended()
        await human.goes()
        const at = whatItWas(scene.lines.at(-1))
        await scene.start({ TOOL_MS })
        await scene.begin(`run-${point}`)
        const told = await toItsEnd(scene, `run-${point}`)
        expectHeld(expect, { lines: scene.lines, operationId: `run-${point}`, told, kills: 1 })
        note(`${what}: worker after ${at}`, told, scene.lines)
        await scene.close()
      }
    }
    await Promise.all([lane(), lane(), lane()])
  })

  it.each(MOMENTS.filter((moment) => what === 'agent' || moment.name !== 'a sub-agent'))(
    'is killed during $name: the worker, the engine, both',
    async ({ name, begun }) => {
      for (const killed of ['worker', 'engine', 'both']) {
        const scene = await RestateScene.open(server, what)
        await scene.start({ TOOL_MS: '700' })
        const key = `during-${killed}`
        await scene.begin(key)
        await scene.said(begun)
        if (killed !== 'worker') await server.kill()
        if (killed !== 'engine') await scene.worker.kill()
        if (killed !== 'worker') await server.start()
        if (killed !== 'engine') await scene.start({ TOOL_MS })
        const told = await toItsEnd(scene, key)
        expectHeld(expect, { lines: scene.lines, operationId: key, told, kills: 1 })
        note(`${what}: ${killed} during ${name}`, told, scene.lines)
        await scene.close()
      }
    },
  )

  it.each(['engine', 'worker and engine'])(`has its %s killed ${third} times`, PATIENCE, async (killed) => {
    for (let nth = 0; nth < Math.ceil(third / 2); nth++) {
      const scene = await RestateScene.open(server, what)
      await scene.start({ TOOL_MS })
      const key = `both-${nth}`
      await scene.begin(key)
      for (let kill = 0; kill < 2; kill++) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 500))
        if (killed !== 'engine') await Promise.all([scene.worker.kill(), server.kill()])
        else await server.kill()
        // The human answers meanwhile.
        if (kill === 1) await scene.answerNow()
        await server.start()
        if (killed !== 'engine') await scene.start({ TOOL_MS })
      }
      const told = await toItsEnd(scene, key)
      expectHeld(expect, { lines: scene.lines, operationId: key, told, kills: 2 })
      note(`${what}: ${killed}, at random`, told, scene.lines)
      await scene.close()
    }
  })
})
