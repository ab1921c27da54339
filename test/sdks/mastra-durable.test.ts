import { HookDispatcher } from 'hookspan'
import { observeMastra, unobserveMastra } from 'hookspan/mastra'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it, vi } from 'vitest'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { activityTree } from '../support/activity-tree.ts'
import type { Untyped } from './support/sdks.ts'

const NAMES = [
  '@mastra/core',
  '@mastra/core/agent',
  '@mastra/core/agent/durable',
  '@mastra/core/storage',
  '@mastra/core/tools',
  '@mastra/core/voice',
]
const sdk: Untyped = Object.assign({}, ...(await Promise.all(NAMES.map((name) => import(name)))))

function agentOf(ran: unknown[], more: object = {}): Untyped {
  const wipe = sdk.createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: { type: 'object', properties: {} },
    execute: async () => {
      ran.push('wiped')
      return 'wiped'
    },
  })
  const replies = [{ toolCalls: [{ id: 'c', name: 'wipe', args: {} }] }, { content: 'done' }]
  return new sdk.Agent({
    id: 's',
    name: 's',
    instructions: '',
    model: scripted(replies),
    tools: { wipe },
    ...more,
  })
}

const careful = { name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] }
const textOf = async ({ output }: Untyped) => {
  let text = ''
  for await (const piece of output.textStream) text += piece
  return text
}
const inMastra = (agent: Untyped) =>
  new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false }).getAgent('s')

type Observe = (agent: Untyped) => void

/** Durable agents, and which of the two objects is observed. */
const DURABLE: Record<string, (ran: unknown[], observe: Observe) => Untyped> = {
  'made of an observed agent': (ran, observe) => {
    const agent = agentOf(ran)
    observe(agent)
    return sdk.createDurableAgent({ agent })
  },
  'that is observed itself': (ran, observe) => {
    const durable = sdk.createDurableAgent({ agent: agentOf(ran) })
    observe(durable)
    return durable
  },
  'on events': (ran, observe) => {
    const durable = sdk.createEventedAgent({ agent: agentOf(ran) })
    observe(durable)
    return durable
  },
  'that a Mastra makes of an observed one': (ran, observe) => {
    const agent = agentOf(ran, { durable: true })
    observe(agent)
    return inMastra(agent)
  },
  'that a Mastra gives': (ran, observe) => {
    const durable = inMastra(agentOf(ran, { durable: true }))
    observe(durable)
    return durable
  },
}

describe.each(Object.entries(DURABLE))('a durable agent %s', (_name, make) => {
  it.each(['stream', 'generate'])('is refused by %s() under a gate or a mock', async (method) => {
    for (const isMocked of [false, true]) {
      const ran: unknown[] = []
      const dispatcher = new HookDispatcher()
      if (isMocked) mockTools(dispatcher).use(mock('wipe').returns('mocked'))
      else dispatcher.use(careful)
      const durable = make(ran, (agent) => observeMastra(agent, { dispatcher }))
      await expect(durable[method]('hi')).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
      expect(ran).toEqual([])
    }
  })

  it('is told as one run without insides', async () => {
    const ran: unknown[] = []
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    const durable = make(ran, (agent) => observeMastra(agent, { dispatcher }))
    expect(await textOf(await durable.stream('hi'))).toBe('done')
    expect(ran).toEqual(['wiped'])
    expect(tree.lines()).toEqual(['invoke_agent s'])
  })

  it('is left alone once nothing is observed', async () => {
    const ran: unknown[] = []
    const dispatcher = new HookDispatcher()
    dispatcher.use(careful)
    let observed: Untyped
    const durable = make(ran, (agent) => {
      observed = observeMastra(agent, { dispatcher })
    })
    unobserveMastra(observed)
    expect(await textOf(await durable.stream('hi'))).toBe('done')
    expect(ran).toEqual(['wiped'])
  })
})

it('the tools that an agent gives for a run elsewhere are refused under a gate', async () => {
  for (const isGuarded of [true, false]) {
    const ran: unknown[] = []
    const dispatcher = new HookDispatcher()
    if (isGuarded) dispatcher.use(careful)
    const agent = observeMastra<Untyped>(agentOf(ran), { dispatcher })
    const { wipe } = await agent.getToolsForExecution({})
    const call = (async () => wipe.execute({}, { toolCallId: 'c', messages: [] }))()
    if (isGuarded) await expect(call).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    else expect(await call).toBe('wiped')
    expect(ran).toEqual(isGuarded ? [] : ['wiped'])
  }
})

it('a copy of an agent, as for a stored version of it, is observed with it', async () => {
  const ran: unknown[] = []
  const dispatcher = new HookDispatcher()
  dispatcher.use(careful)
  const agent = observeMastra<Untyped>(agentOf(ran), { dispatcher })
  const copy = agent.__fork().__fork()
  expect((await copy.generate('hi')).text).toBe('done')
  expect(ran).toEqual([])
})

it('warns of a voice that calls tools by itself, and of no other', () => {
  class Talking extends sdk.MastraVoice {
    addTools(): void {}
  }
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const dispatcher = new HookDispatcher()
  observeMastra(agentOf([]), { dispatcher })
  observeMastra(agentOf([], { voice: new sdk.CompositeVoice({}) }), { dispatcher })
  observeMastra(agentOf([], { voice: () => new Talking() }), { dispatcher })
  expect(warn).not.toHaveBeenCalled()
  observeMastra(agentOf([], { voice: new sdk.CompositeVoice({ realtime: new Talking() }) }), { dispatcher })
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/the voice of "s" calls tools by itself/))
  warn.mockRestore()
})
