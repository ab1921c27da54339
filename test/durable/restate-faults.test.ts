/** What is said, and what is kept, when a durable run cannot go on: on a real Restate. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { expectHeld, toldAgain } from './support/held.ts'
import { RestateScene, restateOfSuite } from './support/restate-scene.ts'
import { RestateServer } from './support/restate-server.ts'
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

it('runs nothing where it is reached by request and response, says why, and goes on once it is served otherwise', async () => {
  const scene = await RestateScene.open(restate.server)
  await scene.start({ REQUEST_RESPONSE: 'yes' })
  const id = await scene.begin('run-7')
  expect(await failureOf(id)).toMatch(/by request and response.*`bidirectional` is true/s)
  expect(scene.lines.filter((line) => 'tool' in line)).toEqual([])
  await scene.worker.kill()
  await scene.start()
  await scene.parked(id)
  await scene.answer()
  const ended = await scene.output<Ended>('run-7')
  expect(toldBy(ended).replace('noted: ', '')).toBe('pay done | write done | note done | delete done')
  await scene.close()
})

it('says that a tool of an agent is gone, keeps the run, and ends it once its code is back', async () => {
  const scene = await RestateScene.open(restate.server, 'agent')
  await scene.start()
  const id = await scene.begin('run-4')
  await scene.parked(id)
  await scene.worker.kill()
  await scene.answer()
  await scene.start({ TOOL_GONE: 'delete' })
  expect(await failureOf(id)).toMatch(/in a call of tool "delete", which agent "shop" does not have any more/)
  await scene.worker.kill()
  await scene.start()
  const ended = await scene.output<Ended>('run-4')
  expect([ended.reason, toldBy(ended)]).toEqual(['done', expect.stringContaining('delete done')])
  expectHeld(expect, { lines: scene.lines, operationId: 'run-4', told: toldBy(ended), kills: 0 })
  expect(toldAgain(scene.lines)).toBe(0)
  await scene.close()
})

it('finds its answer when Restate is back on other ports, of which nobody told the worker', async () => {
  const folder = mkdtempSync(`${tmpdir()}/hookspan-restate-`)
  const before = await RestateServer.start(folder)
  const scene = await RestateScene.open(before)
  await scene.start()
  await scene.parked(await scene.begin('run-5'))
  await before.kill()
  const after = await RestateServer.start(folder)
  onTestFinished(async () => {
    await after.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  expect(after.ingress).not.toBe(before.ingress)
  await scene.answer()
  const ended = (await after.output(scene.service, 'run-5')) as Ended
  expect(ended.reason).toBe('done')
  expectHeld(expect, { lines: scene.lines, operationId: 'run-5', told: toldBy(ended), kills: 0 })
  expect(scene.worker.log).toContain('an engine could not be told of an answer')
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
