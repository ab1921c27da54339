/** Agents of the AI SDK and of OpenAI's Agents SDK as durable runs, on a real Restate. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { expectHeld, toldAgain } from './support/held.ts'
import { RestateScene, restateOfSuite } from './support/restate-scene.ts'
import type { Line } from './support/scenario.ts'
import { until } from './support/wait.ts'

const restate = restateOfSuite()

interface Ended {
  readonly reason: string
  readonly value: string
  readonly totals: { readonly llmCalls: number; readonly toolCalls: number }
}

const DONE = 'pay done | write done | noted: note done | delete done'
const begins = (tool: string) => (line: Line) =>
  'tool' in line && line.tool === tool && line.phase === 'begin'
/** What a human is asked about one of the tools of a turn, the process that asks being killed. */
describe.each(['loop', 'ai-sdk', 'openai-agents'])('a durable run of %s', (what) => {
  it('waits for a human about one of the tools that are to run at once, and tells each hook once', async () => {
    const scene = await RestateScene.open(restate.server, what)
    const asks = { ASKS: 'write' }
    await scene.start(asks)
    await scene.parked(await scene.begin('run-0'))
    await scene.worker.kill()
    expect(scene.lines.some(begins('write'))).toBe(false)
    await scene.answer()
    await scene.start(asks)
    const { reason, value } = await scene.output<Ended>('run-0')
    expect([reason, value.replace('noted: ', '')]).toEqual(['done', DONE.replace('noted: ', '')])
    expectHeld(expect, { lines: scene.lines, operationId: 'run-0', told: value, kills: 0 })
    expect(toldAgain(scene.lines)).toBe(0)
    await scene.close()
  })
})

describe.each(['ai-sdk', 'openai-agents'])('a durable run of %s', (what) => {
  it('is one run in one trace, and each hook is told once, over a wait in which its process and Restate are killed', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    await scene.parked(await scene.begin('run-1'))
    await scene.worker.kill()
    await restate.server.kill()
    await scene.answer()
    await restate.server.start()
    await scene.start()
    const { reason, value, totals } = await scene.output<Ended>('run-1')
    expect([reason, value]).toEqual(['done', DONE])
    expect(totals).toMatchObject({ llmCalls: 3, toolCalls: 4 })
    expectHeld(expect, { lines: scene.lines, operationId: 'run-1', told: value, kills: 0 })
    expect(toldAgain(scene.lines)).toBe(0)
    expect(scene.lines.filter((line) => 'mark' in line && line.mark === 'model')).toHaveLength(5)
    await scene.close()
  })

  it.each([
    ['tools run side by side', 'write'],
    ['an agent runs in a tool', 'note'],
  ])('goes on after its process was killed while %s, and runs none twice', async (_name, tool) => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start({ TOOL_MS: '700' })
    await scene.begin('run-2')
    await scene.said(begins(tool))
    await scene.worker.kill()
    await scene.start()
    const human = scene.human()
    const { reason, value } = await scene.output<Ended>('run-2')
    await human.goes()
    expect(reason).toBe('done')
    expect(value).toContain('execution_unknown')
    expectHeld(expect, { lines: scene.lines, operationId: 'run-2', told: value, kills: 1 })
    await scene.close()
  })

  it('tells the model that a human refused', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start()
    await scene.begin('run-3')
    await scene.answer('reject')
    const { reason, value } = await scene.output<Ended>('run-3')
    expect(reason).toBe('done')
    expect(value).toMatch(/rejected/)
    expect(scene.lines.some(begins('delete'))).toBe(false)
    await scene.close()
  })

  it('ends as interrupted when it is cancelled while a tool is at work', async () => {
    const scene = await RestateScene.open(restate.server, what)
    await scene.start({ TOOL_MS: '30000' })
    const id = await scene.begin('run-4')
    await scene.said(begins('write'))
    await restate.server.cancel(id)
    expect(await scene.output('run-4')).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
    expect(scene.endsOf('run-4')).toEqual(['interrupted'])
    await scene.close()
  })
})

/** They are heavy, and not everybody has them. */
const hasSdks = existsSync(new URL('../sdks/node_modules/@google/adk', import.meta.url))

describe.skipIf(!hasSdks).each(['adk-node', 'mastra-idle', 'mcp-task'])(
  'a durable run whose tool is run by %s',
  (what) => {
    it('keeps what it gave, and runs it no second time when its process was killed in it', async () => {
      const scene = await RestateScene.open(restate.server, what)
      await scene.start()
      await scene.begin('run-5')
      const { reason, value, totals } = await scene.output<Ended>('run-5')
      expect([reason, totals.toolCalls, value]).toEqual(['done', 1, expect.stringContaining('write done')])
      const before = scene.lines.filter(begins('write')).length
      expect(before).toBe(1)
      await scene.worker.kill()

      await scene.start({ TOOL_MS: '700' })
      await scene.begin('run-6')
      await until(
        'its tool is at work',
        async () => scene.lines.filter(begins('write')).length > before || undefined,
      )
      await scene.worker.kill()
      await scene.start()
      const again = await scene.output<Ended>('run-6')
      expect([again.reason, again.value]).toEqual(['done', expect.stringContaining('execution_unknown')])
      expect(scene.lines.filter(begins('write'))).toHaveLength(before + 1)
      expect(scene.endsOf('run-6')).toEqual(['done'])
      await scene.close()
    })
  },
)

it.skipIf(!hasSdks)('a durable run with tools in the background is refused at its beginning', async () => {
  const scene = await RestateScene.open(restate.server, 'strands-background')
  await scene.start()
  await scene.begin('run-7')
  expect(await scene.output('run-7')).toMatchObject({ reason: 'error', error: { type: 'NOT_CAPABLE' } })
  expect(scene.lines.some(begins('write'))).toBe(false)
  await scene.close()
})
