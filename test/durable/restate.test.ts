/** Runs on a real Restate: what an agent is there, and what its limits and its human's answers are. */
import { describe, expect, it } from 'vitest'
import { expectHeld } from './support/held.ts'
import { RestateScene, restateOfSuite } from './support/restate-scene.ts'
import type { EventLine } from './support/scenario.ts'
import { until } from './support/wait.ts'

const restate = restateOfSuite()

const asked = (line: object) => 'mark' in line && line.mark === 'store add'

describe.each(['agent', 'loop'])('a durable %s', (what) => {
  it('goes on after its process and Restate were killed while a human was asked, in one trace, each hook once', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    await scene.parked(await scene.begin('run-1'))
    await scene.worker.kill()
    await restate.server.kill()
    await scene.answer()
    await restate.server.start()
    await scene.start()
    const { reason, content, value } = await scene.output<{
      reason: string
      content?: string
      value?: string
    }>('run-1')
    expect(reason).toBe('done')
    const told = content ?? value ?? ''
    expect(told.replace('noted: ', '')).toBe('pay done | write done | note done | delete done')
    // It was killed where nothing was at work: nothing is told again.
    expectHeld(expect, { lines: scene.lines, operationId: 'run-1', told, kills: 0 })
    await scene.close()
  })

  it.each([
    ['waits for a human', (scene: RestateScene, id: string) => scene.parked(id)],
    // What it asked is in the store of the approvals, and not in the journal.
    ['was killed as it asked one', (scene: RestateScene) => scene.said(asked)],
  ])('ends as interrupted when it is cancelled while nobody runs it, and it %s', async (_name, moment) => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    const id = await scene.begin('run-2')
    await moment(scene, id)
    await scene.worker.kill()
    await restate.server.cancel(id)
    await scene.start()
    expect(await scene.output('run-2')).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
    expect(scene.endsOf('run-2')).toEqual(['interrupted'])
    expect((await scene.asked()).map(({ status }) => status)).toEqual(['cancelled'])
    await scene.close()
  })

  it('ends as interrupted when it is cancelled before anybody runs it', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    await scene.worker.kill()
    const id = await scene.begin('run-0')
    await restate.server.cancel(id)
    await scene.start()
    expect(await scene.output('run-0')).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
    const told = scene.lines.filter((line): line is EventLine => 'hookType' in line)
    expect(told.map(({ hookType }) => hookType)).toEqual(['onStart', 'onComplete'])
    await scene.close()
  })

  it('ends as interrupted when it is cancelled while a tool is at work', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start({ TOOL_MS: '30000' })
    const id = await scene.begin('run-3')
    await scene.said((line) => 'tool' in line && line.tool === 'write')
    await restate.server.cancel(id)
    expect(await scene.output('run-3')).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
    expect(scene.endsOf('run-3')).toEqual(['interrupted'])
    await scene.close()
  })

  it('ends when its time is over, which goes on while nobody runs it', async () => {
    const scene = await RestateScene.open(restate.server, what)
    const limit = { MAX_DURATION_MS: '4000' }
    await scene.start(limit)
    await scene.parked(await scene.begin('run-4'))
    await scene.worker.kill()
    await restate.server.kill()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    await restate.server.start()
    await scene.start(limit)
    expect(await scene.output('run-4')).toMatchObject({ reason: 'interrupted', endedBy: 'maxDurationMs' })
    await scene.close()
  })

  // After a second of it Restate asks for a suspension where a service does not say otherwise: what is kept next is not what it ends with.
  it('is told what came of a tool that takes longer than another one beside it, and than nothing may happen', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start({ TOOL_MS: '2000', SLOW: 'write' })
    await scene.parked(await scene.begin('run-8'))
    await scene.answer()
    const { content, value } = await scene.output<{ content?: string; value?: string }>('run-8')
    const told = content ?? value ?? ''
    expect(told.replace('noted: ', '')).toBe('pay done | write done | note done | delete done')
    expectHeld(expect, { lines: scene.lines, operationId: 'run-8', told, kills: 0 })
    await scene.close()
  })

  it('is in no process as soon as it waits for a human', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    const id = await scene.begin('run-9')
    await scene.parked(id)
    await until('a run that is suspended', async () => {
      const [row] = await restate.server.query(`SELECT status FROM sys_invocation WHERE id = '${id}'`)
      return row?.status === 'suspended' ? true : undefined
    })
    await scene.answer()
    expect((await scene.output<{ reason: string }>('run-9')).reason).toBe('done')
    await scene.close()
  })

  it('finds the answer that nobody told Restate of', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    await scene.parked(await scene.begin('run-5'))
    await scene.worker.kill()
    await scene.answer('reject')
    await scene.start()
    const { content, value } = await scene.output<{ content?: string; value?: string }>('run-5')
    expect(content ?? value).toMatch(/rejected/)
    await scene.close()
  })
})

it('counts what a run has cost over the processes it had', async () => {
  const scene = await RestateScene.open(restate.server)
  // Four model calls come before the question, with those of the sub-agent.
  await scene.start({ MAX_COST_USD: '0.0035' })
  await scene.parked(await scene.begin('run-6'))
  await scene.worker.kill()
  await scene.answer()
  await scene.start({ MAX_COST_USD: '0.0035' })
  expect(await scene.output('run-6')).toMatchObject({ reason: 'cost_limit', costUsd: 0.004 })
  await scene.close()
})

it('refuses input that no attempt could run, and says why', async () => {
  const scene = await RestateScene.open(restate.server)
  await scene.start()
  await scene.begin('run-7', { promt: 'go' })
  const refused = await until('the refusal', async () => {
    const answer = await fetch(`${restate.server.ingress}/restate/workflow/${scene.service}/run-7/output`)
    return answer.status === 470 || answer.status === 404 ? undefined : answer.text()
  })
  expect(refused).toMatch(/promt.*prompt/)
  expect(scene.lines.filter((line) => 'hookType' in line)).toEqual([])
  await scene.close()
})
