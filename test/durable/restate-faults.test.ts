/** What is said, and what is kept, when a durable run cannot go on: on a real Restate. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectHeld, toldAgain } from './support/held.ts'
import { RestateScene } from './support/restate-scene.ts'
import { RestateServer } from './support/restate-server.ts'
import { until } from './support/wait.ts'

const folder = mkdtempSync(`${tmpdir()}/hookspan-faults-`)
let server: RestateServer
beforeAll(async () => {
  server = await RestateServer.start(folder)
})
afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

interface Ended {
  readonly reason: string
  readonly content?: string
  readonly value?: string
}

/** Why Restate tries again. */
const failureOf = (id: string) =>
  until('a failed attempt', async () => {
    const [row] = await server.query(`SELECT last_failure FROM sys_invocation WHERE id = '${id}'`)
    const why = String(row?.last_failure ?? '')
    return /connection|stream closed/i.test(why) || why === '' ? undefined : why
  })

it('says that other code goes on with a loop, keeps the run, and ends it once its code is back', async () => {
  const scene = await RestateScene.open(server, 'loop')
  await scene.start()
  const id = await scene.begin('run-1')
  await scene.parked(id)
  await scene.worker.kill()
  await scene.answer()
  await scene.start({ MODEL: 'another' })
  expect(await failureOf(id)).toMatch(/"planner".*now it calls.*"another"/s)
  await scene.worker.kill()
  await scene.start()
  const { reason, value = '' } = await scene.output<Ended>('run-1')
  expect([reason, value]).toEqual(['done', 'pay done | write done | note done | delete done'])
  expectHeld(expect, { lines: scene.lines, operationId: 'run-1', told: value, kills: 0 })
  expect(toldAgain(scene.lines)).toBe(0)
  await scene.close()
})

it.each(['agent', 'loop'])(
  'says that the engine is away when %s is answered, and goes on when it is back',
  async (what) => {
    const scene = await RestateScene.open(server, what)
    await scene.start()
    await scene.parked(await scene.begin('run-2'))
    await server.kill()
    await scene.answer()
    await until('the warning', async () =>
      scene.worker.log.includes('an engine could not be told of an answer') ? true : undefined,
    )
    await server.start()
    const { reason, value, content } = await scene.output<Ended>('run-2')
    expect(reason).toBe('done')
    expectHeld(expect, { lines: scene.lines, operationId: 'run-2', told: value ?? content ?? '', kills: 0 })
    await scene.close()
  },
)
