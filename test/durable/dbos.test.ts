/** Runs on a real DBOS and Postgres: limits and cancels, over processes that die. kill-table.test.ts kills. */
import { describe, expect, it } from 'vitest'
import { DbosScene, postgresOfSuite } from './support/dbos-scene.ts'
import { expectOneTrace } from './support/held.ts'
import { postgresPrograms, WITHOUT_POSTGRES } from './support/postgres.ts'
import type { Line } from './support/scenario.ts'
import { asks, begins } from './support/scene.ts'

describe.skipIf(postgresPrograms === undefined)(`on DBOS${WITHOUT_POSTGRES}`, () => {
  const postgres = postgresOfSuite()

  describe.each(['agent', 'loop'])('a durable %s', (what) => {
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

    it('ends as interrupted when it is cancelled while a tool is at work', async () => {
      const scene = new DbosScene(postgres.server, what)
      scene.start({ TOOL_MS: '30000' })
      await scene.said(begins('write'))
      await scene.cancel()
      expect(await scene.output()).toEqual({ failed: `Workflow ${scene.id} has been cancelled` })
      expect(scene.endsOf(scene.id)).toEqual(['interrupted'])
      // Aborted, and not waited for.
      expect(scene.lines.filter((line) => 'tool' in line && line.phase === 'end')).toEqual([])
      scene.start()
      await scene.upOrGone()
      expect(scene.endsOf(scene.id)).toEqual(['interrupted'])
      await scene.close()
    })

    it.each([
      ['waits for a human', asks],
      ['has a tool at work', begins('write')],
    ])('ends as interrupted when it is cancelled while nobody runs it, and it %s', async (_name, moment) => {
      const scene = new DbosScene(postgres.server, what)
      scene.start({ TOOL_MS: '700' })
      await scene.said(moment)
      await scene.worker.kill()
      await scene.cancel()
      scene.start()
      await scene.said(ended(scene.id))
      await scene.said((line) => 'span' in line && line.span === 'end' && line.parentId === undefined)
      expect(scene.endsOf(scene.id)).toEqual(['interrupted'])
      // What is open is closed behind the hooks.
      await expect
        .poll(async () => (await scene.asked()).map(({ status }) => status))
        .toEqual(moment === asks ? ['cancelled'] : [])
      // Of an agent a sub-agent was at work, too.
      expectOneTrace(expect, scene.lines, scene.id)
      await scene.close()
    })

    it('ends as interrupted, and is told to no hook twice, when its process dies as it ends', async () => {
      const scene = new DbosScene(postgres.server, what)
      scene.start({ TOOL_MS: '30000' })
      await scene.said(begins('write'))
      await scene.cancel()
      await scene.said(ended(scene.id))
      await scene.worker.kill()
      scene.start()
      await scene.upOrGone()
      // Once more where that it was told could not be kept any more.
      expect(new Set(scene.endsOf(scene.id))).toEqual(new Set(['interrupted']))
      expect(scene.endsOf(scene.id).length).toBeLessThanOrEqual(2)
      await scene.close()
    })
  })
})

const ended = (operationId: string) => (line: Line) =>
  'hookType' in line && line.hookType === 'onComplete' && line.operationId === operationId
