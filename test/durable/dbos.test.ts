/** Runs on a real DBOS and Postgres, killed at the moments that are hard. */
import { describe, expect, it } from 'vitest'
import { DbosScene, postgresOfSuite } from './support/dbos-scene.ts'
import { expectHeld } from './support/held.ts'
import { asks, begins, type Ended, toldBy } from './support/scene.ts'

const postgres = postgresOfSuite()

describe.each(['agent', 'loop'])('a durable %s on DBOS', (what) => {
  it.each([
    ['parallel tools', 'worker', begins('write')],
    ['parallel tools', 'both', begins('write')],
    ['research', 'worker', begins('note')],
    ['a wait for a human', 'worker', asks],
    ['a wait for a human', 'engine', asks],
    ['a wait for a human', 'both', asks],
  ] as const)('is killed during %s: the %s', async (_name, killed, moment) => {
    const scene = new DbosScene(postgres.server, what)
    scene.start({ TOOL_MS: '700' })
    await scene.said(moment)
    if (killed !== 'engine') await scene.worker.kill()
    if (killed !== 'worker') await postgres.server.kill()
    if (killed !== 'worker') await postgres.server.start()
    if (killed !== 'engine') scene.start()
    await scene.answer()
    const ended = await scene.output<Ended>()
    expect(ended.reason).toBe('done')
    expectHeld(expect, { lines: scene.lines, operationId: scene.id, told: toldBy(ended), kills: 1 })
    await scene.close()
  })

  it('ends when its time is over, which goes on while nobody runs it', async () => {
    const scene = new DbosScene(postgres.server, what)
    const limit = { MAX_DURATION_MS: '3000' }
    scene.start(limit)
    await scene.said(asks)
    await scene.worker.kill()
    scene.start(limit)
    expect(await scene.output()).toMatchObject({ reason: 'interrupted', endedBy: 'maxDurationMs' })
    await scene.close()
  })
})
