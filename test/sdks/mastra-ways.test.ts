import { HookDispatcher } from 'hookspan'
import { observeMastra } from 'hookspan/mastra'
import { toolPolicy } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { activityTree } from '../support/activity-tree.ts'
import { settled } from '../support/seen-by-caller.ts'
import type { Untyped } from './support/sdks.ts'

const NAMES = {
  core: '@mastra/core',
  agent: '@mastra/core/agent',
  memory: '@mastra/core/memory',
  storage: '@mastra/core/storage',
  tools: '@mastra/core/tools',
}
const sdk: Untyped = Object.assign(
  {},
  ...(await Promise.all(Object.values(NAMES).map((name) => import(name)))),
)

const memory = { thread: 't', resource: 'r' }
const textOf = async ({ textStream }: Untyped) => {
  let text = ''
  for await (const piece of textStream) text += piece
  return text
}

/** The ways to ask an agent, beside `generate()` and `stream()`. */
const WAYS: Record<string, (agent: Untyped) => Promise<unknown>> = {
  'streamUntilIdle()': async (agent) => textOf(await agent.streamUntilIdle('hi', { memory })),
  'stream() until it is idle': async (agent) => textOf(await agent.stream('hi', { memory, untilIdle: true })),
  'stream() until it is idle, with a limit': async (agent) =>
    textOf(await agent.stream('hi', { memory, untilIdle: { maxIdleMs: 100 } })),
  'sendMessage()': async (agent) => {
    agent.sendMessage('hi', { threadId: 't', resourceId: 'r' })
    return 'done'
  },
}

it.each(Object.entries(WAYS))('%s is one run, and a tool that is denied does not run', async (_name, use) => {
  for (const denied of [false, true]) {
    const ran: unknown[] = []
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    if (denied) dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    const wipe = sdk.createTool({
      id: 'wipe',
      description: 'Wipes.',
      inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
      execute: async ({ what }: Untyped) => {
        ran.push(what)
        return 'wiped'
      },
    })
    const replies = [{ toolCalls: [{ id: 'c', name: 'wipe', args: { what: 'all' } }] }, { content: 'done' }]
    const agent = observeMastra<Untyped>(
      new sdk.Agent({
        id: 's',
        name: 's',
        instructions: '',
        model: scripted(replies),
        tools: { wipe },
        memory: new sdk.MockMemory(),
      }),
      { dispatcher },
    )
    new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })

    expect(await use(agent)).toBe('done')
    await expect.poll(() => tree.lines().length).toBe(6)
    await settled(dispatcher)
    expect(ran).toEqual(denied ? [] : ['all'])
    expect(tree.lines()).toEqual([
      'invoke_agent s',
      '  step 0',
      '    chat contract',
      '    execute_tool wipe',
      '  step 1',
      '    chat contract',
    ])
  }
})
