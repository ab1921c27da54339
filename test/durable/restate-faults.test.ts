/** What is said, and what is kept, when a durable run cannot go on: on a real Restate. */
import { expect, it } from 'vitest'
import { expectHeld, toldAgain } from './support/held.ts'
import { RestateScene, restateOfSuite } from './support/restate-scene.ts'
import { begins, type Ended, toldBy } from './support/scene.ts'
import { until } from './support/wait.ts'

const restate = restateOfSuite()

/** Why Restate tries again. */
const failureOf = (id: string) =>
  until('a failed attempt', async () => {
    const [row] = await restate.server.query(`SELECT last_failure FROM sys_invocation WHERE id = '${id}'`)
    const why = String(row?.last_failure ?? '')
    return /connection|stream closed/i.test(why) || why === '' ? undefined : why
  })

it('says that other code goes on with a loop, keeps the run, and ends it once its code is back', async () => {
  const scene = await RestateScene.open(restate.server, 'loop')
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
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    await scene.parked(await scene.begin('run-2'))
    await restate.server.kill()
    await scene.answer()
    await until('the warning', async () =>
      scene.worker.log.includes('an engine could not be told of an answer') ? true : undefined,
    )
    await restate.server.start()
    const { reason, value, content } = await scene.output<Ended>('run-2')
    expect(reason).toBe('done')
    expectHeld(expect, { lines: scene.lines, operationId: 'run-2', told: value ?? content ?? '', kills: 0 })
    await scene.close()
  },
)

it.each(['agent', 'loop'])(
  'waits for an engine that is slow while %s has tools at work, and runs none twice',
  async (what) => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start({ TOOL_MS: '200' })
    await scene.begin('run-3')
    await scene.said(begins('write'))
    restate.server.signal('SIGSTOP')
    // The tool has ended, and what came of it is to be kept.
    await scene.said((line) => 'tool' in line && line.tool === 'write' && line.phase === 'end')
    await scene.said((line) => 'hookType' in line && line.hookType === 'afterToolCall')
    restate.server.signal('SIGCONT')
    const human = scene.human()
    const ended = await scene.output<Ended>('run-3')
    await human.goes()
    expect(ended.reason).toBe('done')
    expect(toldBy(ended)).not.toContain('execution_unknown')
    expectHeld(expect, { lines: scene.lines, operationId: 'run-3', told: toldBy(ended), kills: 0 })
    await scene.close()
  },
)
