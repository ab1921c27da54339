import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { mutate } from 'hookspan/gates'
import { human, mock, mockTools, type ScriptedStep, scriptedApprovals, scriptedFetch } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { observeStrands, unobserveStrands } from 'hookspan/strands'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { gate } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const VERSIONS = ['@strands-agents/sdk', 'strands-sdk-1.16']

/** How the code of a tool comes to run another one of its agent. */
type Way = (tool: Untyped, context: Untyped, sdk: Untyped) => Promise<unknown>

const input = { what: 'all' }
const WAYS: Readonly<Record<string, Way>> = {
  'by invoke()': (tool, context) => tool.invoke(input, context),
  'by stream()': (tool, context) =>
    lastOf(tool.stream({ ...context, toolUse: { name: 'wipe', toolUseId: '7', input } })),
  'by agent.tool': (_tool, { agent }) => agent.tool.wipe.invoke(input, { recordDirectToolCall: false }),
  'by the stream of agent.tool': (_tool, { agent }) =>
    lastOf(agent.tool.wipe.stream(input, { recordDirectToolCall: false })),
  'in an agent of its own': async (tool, _context, sdk) => {
    const inner = new sdk.Agent({
      model: model(sdk, [CALL('wipe', input), DONE]),
      tools: [tool],
      printer: false,
    })
    await inner.invoke('go')
    return inner.messages[2].content[0]
  },
}

const CALL = (name: string, args: object): ScriptedStep => ({
  toolCalls: [{ id: `call_${name}`, name, arguments: args as never }],
})
const DONE = { content: 'done' }

function model(sdk: Untyped, steps: readonly ScriptedStep[]) {
  const left = [...steps]
  const fetch = scriptedFetch({ respond: () => left.shift() })
  return new sdk.OpenAIModel({
    api: 'responses',
    modelId: 'gpt-x',
    client: new OpenAI({ apiKey: 'k', fetch }),
  })
}

async function lastOf(stream: AsyncGenerator<unknown, unknown>): Promise<unknown> {
  for (;;) {
    const { done, value } = await stream.next()
    if (done) return value
  }
}

const textOf = (gave: Untyped) =>
  typeof gave === 'string' ? gave : (gave?.content ?? []).map((block: Untyped) => block.text).join('')

describe.each(VERSIONS)('%s', async (name) => {
  const sdk: Untyped = { ...(await import(name)), ...(await import(`${name}/models/openai`)) }

  function agentThat(
    way: Way,
    body: (what: string, context: Untyped) => unknown = (what) => `wiped ${what}`,
  ) {
    const ran: string[] = []
    const wipe = sdk.tool({
      name: 'wipe',
      description: 'Wipes.',
      inputSchema: z.object({ what: z.string() }),
      callback: ({ what }: { what: string }, context: Untyped) => {
        ran.push(what)
        return body(what, context)
      },
    })
    const code = sdk.tool({
      name: 'run_code',
      description: 'Runs code.',
      inputSchema: z.object({}),
      callback: async (_: object, context: Untyped) => {
        try {
          return textOf(await way(wipe, context, sdk))
        } catch (error) {
          if ((error as Error).name === 'InterruptError') throw error
          return `failed: ${(error as Error).message}`
        }
      },
    })
    const steps = [CALL('run_code', {}), DONE]
    const agent = new sdk.Agent({
      name: 'cleaner',
      model: model(sdk, steps),
      tools: [wipe, code],
      printer: false,
    })
    return { agent, ran, wipe }
  }

  async function asked(way: Way, dispatcher?: HookDispatcher) {
    const { agent, ran } = agentThat(way)
    if (dispatcher !== undefined) observeStrands(agent, { dispatcher })
    await agent.invoke('Clean up.')
    return { ran, told: textOf(agent.messages[2].content[0]) }
  }

  const with_ = (plug: (dispatcher: HookDispatcher) => unknown) => {
    const dispatcher = new HookDispatcher()
    plug(dispatcher)
    return dispatcher
  }

  describe.each(Object.entries(WAYS))('a tool that another one runs %s', (_way, way) => {
    it('is a call below it, and gives what it gives without us', async () => {
      const tree = activityTree()
      expect(
        await asked(
          way,
          with_((dispatcher) => dispatcher.use(tree.plugin)),
        ),
      ).toEqual(await asked(way))
      expect(tree.lines().filter((line) => line.includes('execute_tool'))).toEqual([
        '    execute_tool run_code',
        '      execute_tool wipe',
      ])
    })

    it.each<[string, (dispatcher: HookDispatcher) => unknown, string]>([
      [
        'denies',
        (dispatcher) => dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] }),
        'tool_not_allowed',
      ],
      [
        'is mocked',
        (dispatcher) =>
          mockTools(dispatcher, [mock('wipe').returns('mocked')], { onUnmocked: 'passthrough' }),
        'mocked',
      ],
      [
        'asks a human who says no',
        (dispatcher) => {
          scriptedApprovals(dispatcher, [human('wipe').rejects('not today')])
          dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })] })
        },
        'not today',
      ],
    ])('does not run where somebody %s', async (_how, plug, told) => {
      const seen = await asked(way, with_(plug))
      expect(seen.ran).toEqual([])
      expect(seen.told).toContain(told)
    })

    it('is given, and gives, what gates make', async () => {
      const gates = [
        { ...gate('beforeToolCall', () => mutate({ what: 'a bit' })), match: 'wipe' },
        { ...gate('afterToolCall', () => mutate('cleaned')), match: 'wipe' },
      ]
      const dispatcher = with_((one) => one.use({ name: 'careful', gates }))
      expect(await asked(way, dispatcher)).toEqual({ ran: ['a bit'], told: 'cleaned' })
    })
  })

  it.each(['by invoke()', 'by stream()'])('its question is the agent’s as without us: %s', async (way) => {
    const results = []
    for (const dispatcher of [undefined, new HookDispatcher()]) {
      const { agent, ran } = agentThat(WAYS[way] as Way, (_what, { interrupt }) =>
        interrupt({ name: 'sure', reason: 'sure?' }),
      )
      if (dispatcher !== undefined) observeStrands(agent, { dispatcher })
      const { interrupts } = await agent.invoke('Clean up.')
      const answers = interrupts.map(({ id }: Untyped) => ({
        interruptResponse: { interruptId: id, response: 'yes' },
      }))
      const { stopReason } = await agent.invoke(answers)
      const reasons = interrupts.map(({ reason }: Untyped) => reason)
      results.push({ reasons, stopReason, ran, told: textOf(agent.messages[2].content[0]) })
    }
    expect(results[1]).toEqual(results[0])
    expect(results[0]?.reasons).toEqual(['sure?'])
  })

  it('the question of a wrapped function that it calls is the agent’s, too, and the call waits', async () => {
    const tree = activityTree()
    const dispatcher = with_((one) => one.use(tree.plugin))
    const ask = (_: object, { interrupt }: Untyped) => interrupt({ name: 'sure', reason: 'sure?' })
    const { pay } = wrapTools({ pay: ask }, { dispatcher })
    const { agent } = agentThat(async (_tool, context) => pay({ to: 'ann' }, context))
    observeStrands(agent, { dispatcher })
    const { interrupts } = await agent.invoke('Pay.')
    await agent.invoke([{ interruptResponse: { interruptId: interrupts[0].id, response: 'yes' } }])
    const outcomes = tree.all.flatMap(({ name: what, ends: [end] }) =>
      end?.kind === 'tool' ? [`${what} ${end.outcome}`] : [],
    )
    const calls = (outcome: string) => [`execute_tool run_code ${outcome}`, `execute_tool pay ${outcome}`]
    expect(outcomes).toEqual([...calls('waiting'), ...calls('completed')])
  })

  it('a tool of two agents is as it was once both are left', async () => {
    const { agent, wipe } = agentThat(WAYS['by invoke()'] as Way)
    const before = Object.getOwnPropertyNames(wipe)
    const steps = [CALL('wipe', input), DONE]
    const other = new sdk.Agent({ model: model(sdk, steps), tools: [wipe], printer: false })
    for (const one of [agent, other])
      await observeStrands(one, { dispatcher: new HookDispatcher() }).invoke('go')
    unobserveStrands(agent)
    expect(Object.getOwnPropertyNames(wipe)).toEqual([...before, 'stream', 'invoke'])
    unobserveStrands(other)
    expect(Object.getOwnPropertyNames(wipe)).toEqual(before)
  })
})
