import { type AgentHook, HookDispatcher, type HookFailure } from 'hookspan'
import { type Gate, proceed } from 'hookspan/gates'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'

const gate = (match: string): Gate => ({ id: 'g', point: 'beforeToolCall', match, decide: proceed })

/** One call of a tool of an MCP server, one of the program's own, with what was reported. */
async function calls(
  gates: Gate[],
  source: 'mcp' | 'local' = 'mcp',
  match = 'mcp__orders__delete_order',
  apiName = 'delete_order',
) {
  const failures: HookFailure[] = []
  const heard: string[] = []
  const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
  dispatcher.use({ name: 'guards', gates })
  const tools = [{ name: apiName, identifier: 'orders' }, { name: 'search' }]
  const hook: AgentHook = {
    id: 'h',
    type: 'beforeToolCall',
    match,
    handler: ({ apiName }) => void heard.push(apiName),
  }
  const op = dispatcher.startOperation({ tools, hooks: [hook] })
  const deleted = await op.toolCall({ apiName, identifier: 'orders', source, args: {} }, () => 1)
  const found = await op.toolCall({ apiName: 'search', args: {} }, () => 1)
  await op.complete()
  await dispatcher.drain()
  return { deleted: deleted.state, found: found.state, heard, told: failures.map(({ message }) => message) }
}

const WAYS = ['mcp__orders__delete_order', 'mcp__orders__*', 'mcp__*', 'mcp__*__delete_*', 'orders/*']

/** It is what Claude's models, permissions and hooks call it. */
describe('a tool of an MCP server is also named by mcp__server__tool', () => {
  it.each(WAYS)('%s: by what is denied, asked about, and allowed', async (name) => {
    for (const guard of [toolPolicy({ deny: [name] }), requireHuman({ match: name })]) {
      expect(await calls([guard])).toMatchObject({ deleted: 'denied', found: 'completed', told: [] })
    }
    expect(await calls([toolPolicy({ allow: [name] })])).toMatchObject({
      deleted: 'completed',
      found: 'denied',
    })
  })

  it('which hooks hear of', async () => {
    expect((await calls([gate('*')])).heard).toEqual(['delete_order'])
  })

  it.each(WAYS.slice(0, 4))('%s: and no tool that is of no such server', async (name) => {
    const { deleted, found, heard } = await calls([toolPolicy({ allow: [name] })], 'local')
    expect([deleted, found, heard]).toEqual(['denied', 'denied', []])
  })

  it('and is told of where there is no such tool', async () => {
    const { told } = await calls([gate('mcp__orders__delete_ordre')])
    expect(told).toEqual([expect.stringMatching(/names no tool of the run by mcp__orders__delete_ordre\./)])
  })
})

/** It is what Copilot's models and permissions call it. */
describe.each(['orders-delete_order', 'orders-*'])('by %s', (name) => {
  it('a tool of an MCP server is denied, asked about and heard of', async () => {
    for (const guard of [toolPolicy({ deny: [name] }), requireHuman({ match: name })]) {
      const { deleted, found, heard, told } = await calls([guard], 'mcp', name)
      expect([deleted, found, heard, told]).toEqual(['denied', 'completed', ['delete_order'], []])
    }
  })

  it('it is not allowed, as another tool may have that name, and neither is a tool of no server meant', async () => {
    expect(await calls([toolPolicy({ allow: [name] })])).toMatchObject({ deleted: 'denied' })
    const { deleted, heard } = await calls([toolPolicy({ deny: [name] })], 'local', name)
    expect([deleted, heard]).toEqual(['completed', []])
  })
})

/** SDKs put the name of the server before that of its tool: Mastra `orders_`, LangChain `orders__`. */
describe.each(['orders_delete_order', 'orders__delete_order'])('%s, of an MCP server', (tool) => {
  it.each([...WAYS, 'delete_order', 'delete_*', 'orders/delete_order', 'orders/delete_*', tool])(
    'is denied, asked about and heard of as %s',
    async (name) => {
      for (const guard of [toolPolicy({ deny: [name] }), requireHuman({ match: name })]) {
        const { deleted, found, heard, told } = await calls([guard], 'mcp', name, tool)
        expect([deleted, found, heard, told]).toEqual(['denied', 'completed', [tool], []])
      }
    },
  )

  it('it is not allowed by less than its name, and neither is a tool of no server meant', async () => {
    const name = 'delete_order'
    expect(await calls([toolPolicy({ allow: [name] })], 'mcp', name, tool)).toMatchObject({
      deleted: 'denied',
    })
    const { deleted, heard } = await calls([toolPolicy({ deny: [name] })], 'local', name, tool)
    expect([deleted, heard]).toEqual(['completed', []])
  })
})

/** Claude's names do not say where that of the server ends: `my__orders` is told as `my`. */
it.each(['my__orders/delete_order', 'my__orders/*', 'mcp__my__orders__delete_order', 'delete_order'])(
  'a tool of a server with two underscores in its name is denied as %s',
  async (name) => {
    const op = new HookDispatcher().startOperation({ gates: [toolPolicy({ deny: [name] })] })
    const call = { apiName: 'orders__delete_order', identifier: 'my', source: 'mcp' as const, args: {} }
    expect((await op.toolCall(call, () => 1)).state).toBe('denied')
    await op.complete()
  },
)
