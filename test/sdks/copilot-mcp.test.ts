import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HookDispatcher } from 'hookspan'
import { observeCopilot, unobserveCopilot } from 'hookspan/copilot'
import { type Gate, mutate } from 'hookspan/gates'
import { human, mock, mockTools, scriptedApprovals, startScriptedServer } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import { configOf, startClient } from './subjects/copilot.ts'
import type { Untyped } from './support/sdks.ts'

const SERVER = fileURLToPath(new URL('./processes/mcp-server.mjs', import.meta.url))

let copilot: Awaited<ReturnType<typeof startClient>>
let file: string
beforeAll(async () => {
  copilot = await startClient()
  file = join(copilot.home, 'ran.txt')
})
afterAll(() => copilot.stop())
afterEach(() => {
  unobserveCopilot(copilot.client)
  rmSync(file, { force: true })
})

const serverOf = (...names: string[]) => ({
  type: 'stdio',
  command: process.execPath,
  args: [SERVER, file, ...names],
  tools: ['*'],
})

/** One prompt, at which the model calls these tools, one in each turn, and what came of it. */
async function calling(called: readonly string[], { gates = [], prepare, ...config }: Untyped = {}) {
  using tracing = traced()
  const { dispatcher } = tracing
  dispatcher.use({ name: 'guard', gates })
  using _prepared = prepare?.(dispatcher)
  const events = eventsOf(dispatcher) as Untyped[]
  const server = await startScriptedServer({
    respond({ body }) {
      const { model, messages } = body as Untyped
      const results = messages.filter(({ role }: Untyped) => role === 'tool').length
      const [name] = (model === 'expert' ? called.slice(1) : called).slice(results)
      if (name === undefined || (model !== 'expert' && called[0] === 'task' && results > 0))
        return { content: 'done' }
      const task = { description: 'x', prompt: 'help', agent_type: 'expert', name: 'one', mode: 'sync' }
      const args = name === 'task' ? task : name === 'view' ? { path: copilot.home } : { id: 7 }
      return { toolCalls: [{ id: `${model}-${results}`, name, arguments: args }] }
    },
  })
  observeCopilot(copilot.client, { dispatcher })
  const { availableTools: _, ...more } = configOf(server.baseURL, 'contract', config.tools ?? [])
  const session = await copilot.client.createSession({
    ...more,
    workingDirectory: copilot.home,
    mcpServers: { shop: serverOf('buy', 'look') },
    ...config,
  })
  try {
    await session.sendAndWait('go on')
  } finally {
    await session.disconnect()
    await expect.poll(() => dispatcher.stats().operations).toBe(0)
    await dispatcher.drain()
    await server.close()
  }
  return {
    ran: existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [],
    told: findAll(events as never, 'afterToolCall').map(
      ({ identifier, apiName, source, code = 'ran' }: Untyped) =>
        `${source} ${identifier}/${apiName}: ${code}`,
    ),
    heard: (server.requests.at(-1)?.body as Untyped)?.messages
      .filter(({ role }: Untyped) => role === 'tool')
      .map(({ content }: Untyped) => content),
    tree: tracing.tree(),
  }
}

describe('a tool of an MCP server of Copilot', () => {
  it('is told as on other SDKs: by its name, below its server', async () => {
    const { ran, told, tree } = await calling(['shop-buy'])
    expect(ran).toEqual(['buy 7'])
    expect(told).toEqual(['mcp shop/buy: ran'])
    expect(tree).toContain('execute_tool buy')
  })

  it.each(['buy', 'shop/*', 'shop/buy', 'mcp__shop__buy', 'shop-buy', 'shop-*'])(
    'does not run where %s is denied, and all others do',
    async (name) => {
      const { ran, told, heard } = await calling(['shop-buy', 'view', 'other-look'], {
        gates: [toolPolicy({ deny: [name] })],
        mcpServers: { shop: serverOf('buy'), other: serverOf('look') },
      })
      expect(ran).toEqual(['look 7'])
      expect(told).toEqual([
        'mcp shop/buy: tool_not_allowed',
        'local copilot/view: ran',
        'mcp other/look: ran',
      ])
      expect(heard[0]).toContain('the tool buy is not allowed here')
    },
  )

  it.each([
    [['buy'], 'ran'],
    [['shop/*'], 'ran'],
    // It may be a tool of yours that is meant.
    [['shop-buy'], 'tool_not_allowed'],
  ])('is allowed by %s: %s', async (allow, code) => {
    const { told } = await calling(['shop-buy'], { gates: [toolPolicy({ allow })] })
    expect(told).toEqual([`mcp shop/buy: ${code}`])
  })

  it('is what a human is asked about, runs with what gates made of it, and gives what they made of that', async () => {
    const prepare = (dispatcher: HookDispatcher) =>
      scriptedApprovals(dispatcher, [human('shop/buy').edits({ id: 9 })])
    const change = { id: 'c', point: 'beforeToolCall', match: 'buy', decide: () => mutate({ id: 8 }) } as Gate
    const answer = { id: 'r', point: 'afterToolCall', match: 'buy', decide: () => mutate('bought') } as Gate
    const gates = [change, requireHuman({ match: 'shop/buy' }), answer]
    const { ran, heard } = await calling(['shop-buy'], { gates, prepare })
    expect(ran).toEqual(['buy 9'])
    expect(heard).toEqual(['bought'])
  })

  it('goes by its own name where what the model is offered says less', async () => {
    const { ran, told } = await calling(['shop-a-b', 'My-Shop--buy-it'], {
      mcpServers: { shop: serverOf('buy'), 'shop-a': serverOf('b'), 'My Shop!': serverOf('buy.it') },
    })
    expect(ran).toEqual(['b 7', 'buy.it 7'])
    expect(told).toEqual(['mcp shop-a/b: ran', 'mcp My Shop!/buy.it: ran'])
  })

  it('goes by it where an agent that Copilot calls has the server, and where it was not permitted', async () => {
    const customAgents = [
      { name: 'expert', prompt: 'Help.', model: 'expert', mcpServers: { inner: serverOf('dig', 'buy') } },
    ]
    const asks = { customAgents, gates: [toolPolicy({ deny: ['inner/dig', 'shop/buy'] })] }
    const { ran, told } = await calling(['task', 'inner-dig', 'shop-buy', 'inner-buy'], asks)
    expect(ran).toEqual(['buy 7'])
    expect(told.slice(0, -1)).toEqual([
      'mcp inner/dig: tool_not_allowed',
      'mcp shop/buy: tool_not_allowed',
      'mcp inner/buy: ran',
    ])
    unobserveCopilot(copilot.client)
    const no = await calling(['shop-buy'], {
      onPermissionRequest: () => ({ kind: 'reject', feedback: 'no' }),
    })
    expect(no.told).toEqual(['mcp shop/buy: tool_approval'])
    unobserveCopilot(copilot.client)
    const onPreToolUse = () => ({ permissionDecision: 'deny', permissionDecisionReason: 'says the user' })
    expect((await calling(['shop-buy'], { hooks: { onPreToolUse } })).told).toEqual([
      'mcp shop/buy: tool_approval',
    ])
  })

  it('runs past no gate where Copilot calls it in the place of one of yours of that name', async () => {
    const own = {
      name: 'shop-buy',
      description: 'Mine.',
      parameters: { type: 'object' },
      handler: () => 'mine',
    }
    const gates = [toolPolicy({ deny: ['buy'] })]
    const { ran, told } = await calling(['shop-buy'], { gates, tools: [own] })
    expect(ran).toEqual([])
    expect(told).toEqual(['mcp shop/buy: tool_not_allowed'])
  })

  it('is none that can be mocked: the run is refused', async () => {
    const prepare = (dispatcher: HookDispatcher) =>
      mockTools(dispatcher, [mock('buy').returns('bought').optional()])
    await expect(calling(['shop-buy'], { prepare })).rejects.toThrow(/not run here/)
  })
})
