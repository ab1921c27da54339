import { setTimeout as sleep } from 'node:timers/promises'
import { HookDispatcher } from 'hookspan'
import { deny } from 'hookspan/gates'
import { toolPolicy } from 'hookspan/policies'
import { observeStrands, runWith } from 'hookspan/strands'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { settled } from '../support/seen-by-caller.ts'
import { traced } from '../support/span-tree.ts'
import type { Untyped } from './support/sdks.ts'

const name = '@strands-agents/sdk'
const { Agent, Model, tool }: Untyped = await import(name)

/** A model that calls the tool once, and then says that it is done. */
class Scripted extends Model {
  #asked = 0
  getConfig() {
    return { modelId: 'contract' }
  }
  updateConfig() {}
  async *stream() {
    const isFirst = this.#asked++ === 0
    const start = isFirst && { start: { type: 'toolUseStart', name: 'wipe', toolUseId: 'c1' } }
    const delta = isFirst
      ? { type: 'toolUseInputDelta', input: '{"what":"all"}' }
      : { type: 'textDelta', text: 'done' }
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent', ...start }
    yield { type: 'modelContentBlockDeltaEvent', delta }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: isFirst ? 'toolUse' : 'endTurn' }
  }
}

/** An agent whose tool runs in the background, and what the tool did. */
function wiping(waitForCompletion: boolean) {
  const ran: string[] = []
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ what: z.string() }),
    callback: async ({ what }: { what: string }) => {
      await sleep(30)
      ran.push(what)
      return 'wiped'
    },
  })
  const backgroundTasks = { always: ['wipe'], waitForCompletion }
  return { agent: new Agent({ model: new Scripted(), tools: [wipe], printer: false, backgroundTasks }), ran }
}

/** What the agent is told of its tool, without ids and times. */
const toldOf = ({ messages }: Untyped) =>
  (
    JSON.stringify(messages).match(/"status":"(completed|failed)"|"message":"[^"]*"|\{"text":"wiped"\}/g) ??
    []
  ).join()

it.each([true, false])(
  'a tool in the background gives what it gives without hookspan, in a run of its own (waited for: %s)',
  async (waits) => {
    const bare = wiping(waits)
    const ours = wiping(waits)
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    const agent = observeStrands<Untyped>(ours.agent, { dispatcher, agentName: 'cleaner' })
    for (const one of [bare.agent, agent]) {
      await one.invoke('hi')
      await expect.poll(() => (one === agent ? ours : bare).ran).toEqual(['all'])
      // What it gave is told with the next invocation, where it was not waited for.
      await one.invoke('and?')
    }
    await settled(dispatcher)

    expect(toldOf(agent)).toBe(toldOf(bare.agent))
    expect(toldOf(agent)).toContain('wiped')
    const lines = tree.lines()
    const at = lines.indexOf('    execute_tool wipe')
    expect(lines[at - 1]).toBe('  invoke_agent cleaner')
    expect(lines.join()).not.toContain('error')
  },
)

it.each([['omit', 1] as const, ['nest', 2] as const])(
  'the span that the SDK makes of it is left out, or nested: %s',
  async (sdkSpans, spans) => {
    using tracing = traced()
    expect(tracing.makeGlobal()).toBe(true)
    const { agent } = wiping(true)
    await observeStrands(agent, { dispatcher: tracing.dispatcher, sdkSpans }).invoke('hi')
    await settled(tracing.dispatcher)
    expect(tracing.spans().filter(({ name }) => name === 'execute_tool wipe')).toHaveLength(spans)
  },
)

it('does not run where a gate of the dispatcher, or of the run, denies it, and its result can be withheld', async () => {
  for (const withhold of ['dispatcher', 'run', 'result'] as const) {
    const { agent: own, ran } = wiping(true)
    const dispatcher = new HookDispatcher()
    const agent = observeStrands<Untyped>(own, { dispatcher })
    const policy = toolPolicy({ deny: ['wipe'] })
    if (withhold === 'dispatcher') dispatcher.use({ name: 'careful', gates: [policy] })
    if (withhold === 'result')
      dispatcher.use({
        name: 'careful',
        gates: [{ id: 'no', point: 'afterToolCall', decide: () => deny('secret') }],
      })
    await runWith(withhold === 'run' ? { gates: [policy] } : {}, () => agent.invoke('hi'))
    await settled(dispatcher)

    expect(ran).toEqual(withhold === 'result' ? ['all'] : [])
    expect(toldOf(agent)).not.toContain('wiped')
    expect(toldOf(agent)).toContain('failed')
  }
})
