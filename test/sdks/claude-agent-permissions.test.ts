import type { HookEvent } from 'hookspan'
import { mock, mockTools } from 'hookspan/mock'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, findAll } from '../support/told-events.ts'
import { askClaude, saying } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'
const sdk: Untyped = await import(NAME)

/** What comes of a mocked tool of a server in this process, with these permissions. */
async function mocked(options: object) {
  const { dispatcher, events } = dispatcherWith()
  using mocks = mockTools(dispatcher, [mock('wipe').returns('canned').optional()])
  const ran: unknown[] = []
  const wipe = sdk.tool('wipe', 'Wipes.', { q: z.string() }, async ({ q }: { q: string }) => {
    ran.push(q)
    return { content: [{ type: 'text', text: 'wiped' }] }
  })
  const mcpServers = { mine: sdk.createSdkMcpServer({ name: 'mine', tools: [wipe] }) }
  const replies = [
    { toolCalls: [{ id: 'call_1', name: 'mcp__mine__wipe', args: { q: 'a' } }] },
    { content: 'done' },
  ]
  const messages = await askClaude(dispatcher, replies, { tools: [], mcpServers, ...options })
  expect(ran).toEqual([])
  return {
    told: JSON.stringify(messages.filter(({ type }) => type === 'user')),
    events: events.map(({ hookType }) => hookType).filter((type) => /Human|ToolCall/.test(type)),
    ended: findAll(events, 'afterToolCall').map(({ outcome }: HookEvent<'afterToolCall'>) => outcome),
    used: mocks.calls('wipe').map(({ args }) => args),
  }
}

const asking = (answer: object) => ({ canUseTool: async () => answer })
const HUMAN = ['beforeHumanIntervention', 'afterHumanIntervention', 'beforeToolCall']

it.each(['a', 'edited'])(
  'a mocked tool is asked for as it is without mocks, and answered by the mock once it is permitted (with %s)',
  async (q) => {
    const { told, ...rest } = await mocked(asking({ behavior: 'allow', updatedInput: { q } }))
    expect(told).toContain('canned')
    expect(rest).toEqual({ events: [...HUMAN, 'afterToolCall'], ended: ['mocked'], used: [{ q }] })
  },
)

it('a mocked tool that is not permitted is a rejected call, and no mock is used', async () => {
  const { told, ...rest } = await mocked(asking({ behavior: 'deny', message: 'not today' }))
  expect(told).toContain('not today')
  expect(told).not.toContain('canned')
  expect(rest).toEqual({ events: [...HUMAN, 'afterToolCall'], ended: ['rejected'], used: [] })
})

it('a mocked tool that nobody permits does not run, as without mocks', async () => {
  const { told, ended, used } = await mocked({})
  expect(told).not.toContain('canned')
  expect({ ended, used }).toEqual({ ended: ['denied'], used: [] })
})

it("a tool of Claude Code that its permissions keep from running is a denied call, with Claude Code's reason", async () => {
  const { dispatcher, events } = dispatcherWith()
  const asked = { toolCalls: [{ id: 'call_1', name: 'Bash', args: { command: 'rm -rf made' } }] }
  await askClaude(dispatcher, [asked, { content: 'done' }], { tools: ['Bash'] })
  expect(findAll(events, 'onToolCallError')).toEqual([])
  expect(findAll(events, 'afterToolCall')).toMatchObject([
    {
      apiName: 'Bash',
      outcome: 'denied',
      code: 'tool_approval',
      reason: expect.stringContaining('needs approval'),
    },
  ])
})

it('a tool of a server that is added while it runs is not run where no mock fits', async () => {
  const { dispatcher, events } = dispatcherWith()
  const mocks = mockTools(dispatcher, [mock('other').returns('canned').optional()])
  let ran = false
  const wipe = sdk.tool('wipe', 'Wipes.', {}, async () => {
    ran = true
    return { content: [] }
  })
  const added = Promise.withResolvers<void>()
  let isAdded = false
  const calls = [{ id: 'call_1', name: 'mcp__late__wipe', args: {} }]
  const onMessage = ({ type }: Untyped, query: Untyped) => {
    if (type !== 'assistant' || isAdded) return
    isAdded = true
    const late = sdk.createSdkMcpServer({ name: 'late', tools: [wipe] })
    query.setMcpServers({ late }).then(added.resolve, added.reject)
  }
  async function* prompt() {
    yield saying('Begin.')
    await added.promise
    yield saying('Wipe it.')
  }
  const messages = await askClaude(
    dispatcher,
    [{ content: 'begun' }, { toolCalls: calls }, { content: 'done' }],
    { tools: [] },
    { prompt: prompt(), onMessage },
  )
  expect(ran).toBe(false)
  expect(JSON.stringify(messages.filter(({ type }) => type === 'user'))).toContain('no mock fits')
  expect(findAll(events, 'onToolCallError')).toMatchObject([{ apiName: 'wipe' }])
  expect(() => mocks[Symbol.dispose]()).toThrow('no mock fits')
})

it('a mocked tool that is allowed needs nobody', async () => {
  const { told, ...rest } = await mocked({ allowedTools: ['mcp__mine__wipe'] })
  expect(told).toContain('canned')
  expect(rest).toEqual({ events: ['beforeToolCall', 'afterToolCall'], ended: ['mocked'], used: [{ q: 'a' }] })
})

/** What comes of a mock of a server's only tool, which is called with this. */
async function mockedCall(server: string, q: unknown) {
  const { dispatcher } = dispatcherWith()
  const mocks = mockTools(dispatcher, [mock('wipe').returns('canned')])
  const wipe = sdk.tool('wipe', 'Wipes.', { q: z.string() }, () => Promise.reject(new Error('it was wiped')))
  const name = `mcp__${server.replace(' ', '_')}__wipe`
  const replies = [{ toolCalls: [{ id: 'call_1', name, args: { q } }] }, { content: 'done' }]
  const mcpServers = { [server]: sdk.createSdkMcpServer({ name: server, tools: [wipe] }) }
  const messages = await askClaude(dispatcher, replies, { tools: [], mcpServers, allowedTools: [name] })
  return { mocks, told: JSON.stringify(messages.filter(({ type }) => type === 'user')) }
}

it('a mock is held to the schema of its tool, as the tool itself is', async () => {
  const { mocks, told } = await mockedCall('mine', 5)
  expect(told).not.toContain('canned')
  expect(() => mocks[Symbol.dispose]()).toThrow('The arguments of "wipe" break the tool\'s input schema.')
})

it('a server whose name Claude Code writes otherwise can be mocked', async () => {
  const { mocks, told } = await mockedCall('my shop', 'a')
  expect(told).toContain('canned')
  mocks[Symbol.dispose]()
})
