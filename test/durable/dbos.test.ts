/** Runs on a real DBOS and Postgres: limits and cancels, over processes that die. kill-table.test.ts kills. */
import { describe, expect, it } from 'vitest'
import type { Untyped } from '../sdks/support/sdks.ts'
import { DbosScene, postgresOfSuite } from './support/dbos-scene.ts'
import { expectOneTrace } from './support/held.ts'
import { postgresPrograms, WITHOUT_POSTGRES } from './support/postgres.ts'
import type { Line } from './support/scenario.ts'
import { asks, begins } from './support/scene.ts'
import { until } from './support/wait.ts'

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

/** What has been kept of a run, as another one wrote it, or a disk that lost some of it. */
const JOURNALS = {
  'a newer hookspan': (kept: string) => kept.replace(/(\\?"version\\?"):1\b/g, '$1:9'),
  'nobody, and is cut short': (kept: string) => kept.replace(/"entries(?=")|"runs(?=\\?")/, '"of'),
}

describe.skipIf(postgresPrograms === undefined)(`what is kept on DBOS${WITHOUT_POSTGRES}`, () => {
  const postgres = postgresOfSuite()

  /** Parked, and nobody has it; then its journal is changed, and it is gone on with. */
  async function goneOnWith(what: string, { as = what, edit = (kept: string) => kept }): Promise<string> {
    const scene = new DbosScene(postgres.server, what)
    scene.start()
    // Its question is kept, and it waits: for the two seconds until it looks for an answer itself.
    await until('a run that waits', async () =>
      (await kept(scene.id)).find(({ name }) => name === 'DBOS.sleep'),
    )
    await scene.worker.kill()
    for (const { id, name, output } of await kept(scene.id)) {
      if (!name.startsWith('segment')) continue
      const changed =
        'UPDATE dbos.operation_outputs SET output = $1 WHERE workflow_uuid = $2 AND function_id = $3'
      await query(changed, [edit(output), scene.id, id])
    }
    await scene.answer()
    const before = scene.lines.length
    const { failed } = await scene.outputOf<{ failed: string }>(as)
    // Nothing of it is done.
    const done = scene.lines.slice(before).filter((line) => 'tool' in line || 'hookType' in line)
    expect(done).toEqual([])
    await scene.close()
    return failed
  }

  async function query<T>(text: string, values: readonly unknown[]): Promise<T[]> {
    const { default: pg }: Untyped = await import('pg' as string)
    const client = new pg.Client({ connectionString: postgres.server.url })
    // Of one that has ended, when its Postgres does.
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query(text, values)
    await client.end()
    return rows
  }

  const kept = (workflowId: string) =>
    query<{ id: number; name: string; output: string }>(
      'SELECT function_id AS id, function_name AS name, output FROM dbos.operation_outputs WHERE workflow_uuid = $1',
      [workflowId],
    )

  it.each(
    ['agent', 'loop'].flatMap((what) =>
      Object.entries(JOURNALS).map(([of, edit]) => [what, of, edit] as const),
    ),
  )('of %s by %s is said, and nothing is run', async (what, of, edit) => {
    const why = await goneOnWith(what, { edit })
    expect(why).toMatch(/^The checkpoint cannot be gone on from, and is kept as it is: record \d+ of \d+ /)
    expect(why).toMatch(of === 'a newer hookspan' ? /go on with the newer one/ : /is not whole|says nothing/)
  })

  it.each([
    ['agent', 'loop', /of an agent that execAgent runs, and `agent` is a function now/],
    ['loop', 'agent', /of a function, and `agent` is one that execAgent runs now/],
  ])('of %s is not gone on with as %s', async (what, as, why) => {
    expect(await goneOnWith(what, { as })).toMatch(why)
  })
})

const ended = (operationId: string) => (line: Line) =>
  'hookType' in line && line.hookType === 'onComplete' && line.operationId === operationId
