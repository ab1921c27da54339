/** A Postgres that is slow, and whose connections are cut: a run waits for it, and nothing is run twice. */
import { expect, it, onTestFinished } from 'vitest'
import { DbosScene, postgresOfSuite } from './support/dbos-scene.ts'
import { expectHeld, toldAgain } from './support/held.ts'
import { postgresPrograms, WITHOUT_POSTGRES } from './support/postgres.ts'
import { begins, type Ended, toldBy } from './support/scene.ts'
import { slowWayTo } from './support/slow-way.ts'

/** Each way: DBOS asks several times for each thing that it keeps. */
const DELAY_MS = 25

const postgres = postgresPrograms === undefined ? undefined : postgresOfSuite()

it.skipIf(postgres === undefined).for(['agent', 'loop'])(
  `a durable %s waits for a Postgres that is slow, and loses its connections${WITHOUT_POSTGRES}`,
  async (what) => {
    const url = new URL(postgres?.server.url ?? '')
    const way = await slowWayTo(Number(url.port))
    onTestFinished(() => way[Symbol.asyncDispose]())
    url.port = String(way.port)
    const scene = new DbosScene({ url: url.href }, what)
    scene.start({ TOOL_MS: '200' })
    await scene.upOrGone()
    way.delayMs = DELAY_MS
    await scene.said(begins('write'))
    // Its tools go on meanwhile; what came of them is kept over others.
    way.cut()
    const human = scene.human()
    const ended = await scene.output<Ended>()
    await human.goes()
    expect(ended.reason).toBe('done')
    expect(toldBy(ended)).not.toContain('execution_unknown')
    expectHeld(expect, { lines: scene.lines, operationId: scene.id, told: toldBy(ended), kills: 0 })
    expect(toldAgain(scene.lines)).toBe(0)
    await scene.close()
  },
)
