/** A durable loop that goes on with other code than it was begun with. */
import { setTimeout as delay } from 'node:timers/promises'
import { type AgentHook, HookDispatcher } from 'hookspan'
import type { Agent } from 'hookspan/agent'
import { deny } from 'hookspan/gates'
import { expect, it } from 'vitest'
import type { DurableLoop, LoopRun } from '../../src/durable/loop-run.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../../src/durable/options.ts'
import { DurableRuns } from '../../src/durable/runs.ts'
import { statelessModel } from '../support/stateless-model.ts'
import { Journal, MemoryEngine } from './durable-model/engine.ts'

const never = () => new Promise<never>(() => {})

/** One run, in processes that come and go: the first ones die behind a record. */
function runOf() {
  const journal = new Journal()
  const attempt = async (
    agent: Agent | ((run: LoopRun) => Promise<unknown>),
    diesAfter?: number,
    more: Partial<DurableAgentOptions> = {},
  ) => {
    const died = Promise.withResolvers<'died'>()
    let records = 0
    const engine = new MemoryEngine(journal, {
      suspends: false,
      forgets: false,
      moment: async (what) => {
        if (what !== 'after a record' || records++ !== diesAfter) return
        died.resolve('died')
        await never()
      },
      wait: never,
      suspend: () => {},
      hasLost: () => false,
    })
    const options = { name: 'shop', dispatcher: new HookDispatcher(), agent: agent as DurableLoop, ...more }
    const runs = DurableRuns.of(options, DURABLE_FIELDS, () => undefined)
    return Promise.race([runs.run(engine, 'run-1', { prompt: 'go' }), died.promise])
  }
  return { journal, attempt }
}

const ask = (run: LoopRun, model = 'm') =>
  run.step((step) => step.llmCall({ model, request: {} }, async () => 'hi'))

it.each([
  ['before its tool was run', 1],
  ['after it', 2],
  ['in the next call of its turn', 3],
  ['in the next turn', 4],
  ['after that', 5],
])(
  'runs no tool under another name whose process died %s, and ends once its code is back',
  async (_when, at) => {
    const ran: string[] = []
    const loop = (name: string) => async (run: LoopRun) => {
      await run.step(async (step) => {
        await step.toolCall({ apiName: name, args: {}, run: () => ran.push(name) })
        await step.toolCall({ apiName: 'note', args: {}, run: () => ran.push('note') })
      })
      await ask(run)
      await run.step((step) => step.toolCall({ apiName: 'write', args: {}, run: () => ran.push('write') }))
    }
    const { attempt } = runOf()
    expect(await attempt(loop('refund'), at)).toBe('died')
    const before = ran.length
    await expect(attempt(loop('repay'))).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringMatching(/had begun "refund".*before it calls "(repay|m|write)"/),
    })
    expect(ran).toHaveLength(before)
    expect(await attempt(loop('refund'))).toMatchObject({ reason: 'done' })
    expect(new Set(ran).size).toBe(ran.length)
  },
)

it('goes on with calls side by side, whichever of them it comes by first', async () => {
  const ran: string[] = []
  let late = false
  const loop = (run: LoopRun) =>
    run.step(async (step) => {
      const call = (apiName: string, ms: number) =>
        step.toolCall({
          apiName,
          args: {},
          run: async () => {
            await delay(ms)
            ran.push(apiName)
          },
        })
      const second = async () => {
        if (late) await delay(50)
        await call('fast', 0)
        await call('after', 0)
      }
      await Promise.all([call('slow', 200), second()])
    })
  const { attempt } = runOf()
  expect(await attempt(loop, 3)).toBe('died')
  late = true
  expect(await attempt(loop)).toMatchObject({ reason: 'done' })
  expect(ran.filter((name) => name === 'fast')).toEqual(['fast'])
})

it('ends when it is cancelled, whatever code there is now', async () => {
  const ran: string[] = []
  const loop = (name: string, model?: string) => async (run: LoopRun) => {
    await run.step((step) => step.toolCall({ apiName: name, args: {}, run: () => ran.push(name) }))
    await ask(run, model)
    await ask(run, model)
  }
  for (const [name, model] of [['refund', 'other'], ['repay']] as const) {
    const { journal, attempt } = runOf()
    ran.length = 0
    expect(await attempt(loop('refund'), 3)).toBe('died')
    await expect(attempt(loop(name, model))).rejects.toMatchObject({ code: 'INVALID_STATE' })
    journal.cancel()
    expect(await attempt(loop(name, model))).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
    expect(ran).toEqual(['refund'])
  }
})

const held = { id: 'held', point: 'beforeToolCall', match: 'pay', decide: () => deny('no') } as const

it('of its own gates goes on with none fewer, and ends without them when it is cancelled', async () => {
  const { journal, attempt } = runOf()
  const loop = async (run: LoopRun) => {
    await ask(run)
    return run.step(async (step) => (await step.toolCall({ apiName: 'pay', args: {}, run: () => 1 })).state)
  }
  expect(await attempt(loop, 1, { gates: [held] })).toBe('died')
  await expect(attempt(loop)).rejects.toMatchObject({ code: 'INVALID_STATE', message: /gate\(s\) held/ })
  journal.cancel()
  expect(await attempt(loop)).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
})

it('an agent whose tool, gate and name are others goes on with none of it, and ends when it is cancelled', async () => {
  const ran: string[] = []
  const agent = (...names: string[]): Agent => ({
    name: 'shop',
    model: 'stateless',
    tools: names.map((name) => ({ name, execute: () => ran.push(name) })),
  })
  const client = statelessModel((messages) =>
    messages.some(({ role }) => role === 'tool')
      ? { content: 'done' }
      : { calls: [{ id: 'p', name: 'pay', args: {} }] },
  )
  const options = { client, priceOf: () => 0 }
  const { journal, attempt } = runOf()
  expect(await attempt(agent('pay'), 1, { ...options, gates: [{ ...held, match: 'look' }] })).toBe('died')
  await expect(attempt(agent('look'), undefined, options)).rejects.toMatchObject({ code: 'INVALID_STATE' })
  journal.cancel()
  const ended = await attempt({ ...agent('look'), name: 'other' }, undefined, options)
  expect(ended).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
  expect(ran).toEqual([])
})

it('runs nothing of a loop without the hooks that it was begun with, one of which may mock, and ends once they are back', async () => {
  const ran: string[] = []
  const loop = async (run: LoopRun) => {
    await ask(run)
    await run.step((step) => step.toolCall({ apiName: 'pay', args: {}, run: () => ran.push('pay') }))
    return 'done'
  }
  const mocker: AgentHook = {
    id: 'mocker',
    type: 'beforeToolCall',
    mocks: true,
    handler: (event) => event.mock({ content: 'mocked' }),
  }
  const { attempt } = runOf()
  expect(await attempt(loop, 1, { hooks: [mocker] })).toBe('died')
  await expect(attempt(loop)).rejects.toThrow(/observed by the hook\(s\) mocker, which are missing/)
  const dispatcher = new HookDispatcher()
  dispatcher.namedHooks.define([mocker])
  expect(await attempt(loop, 1, { dispatcher })).toBe('died')
  expect(await attempt(loop, undefined, { hooks: [mocker] })).toMatchObject({ value: 'done' })
  expect(ran).toEqual([])
})
