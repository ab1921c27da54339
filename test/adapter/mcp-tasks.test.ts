import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { mutate } from 'hookspan/gates'
import { observeMcpClient, observeMcpServer, unobserveMcpClient } from 'hookspan/mcp'
import { mock, mockTools } from 'hookspan/mock'
import { redact, requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { all, settled } from '../support/seen-by-caller.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A client of a server whose tools run as tasks. */
async function connected() {
  const ran: string[] = []
  const server = new McpServer(
    { name: 'shop', version: '1.0.0' },
    { capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore: new InMemoryTaskStore() },
  )
  const task = (name: string, end: 'completed' | 'failed', more: object) =>
    server.experimental.tasks.registerToolTask(
      name,
      { inputSchema: { q: z.string() }, execution: { taskSupport: 'required' } },
      {
        createTask: async ({ q }, { taskStore }) => {
          ran.push(`${name} ${q}`)
          const made = await taskStore.createTask({ ttl: 60_000, pollInterval: 1 })
          const content = [{ type: 'text' as const, text: `found ${q}` }]
          await taskStore.storeTaskResult(made.taskId, end, { content, ...more })
          return { task: made }
        },
        getTask: async (_args, { taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async (_args, { taskId, taskStore }) => taskStore.getTaskResult(taskId) as never,
      },
    )
  task('search', 'completed', {})
  task('broken', 'completed', { isError: true })
  task('lost', 'failed', {})
  const client = new Client({ name: 'test', version: '1.0.0' })
  const [left, right] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(left), client.connect(right)])
  await client.listTools()
  closing.push(() => client.close())
  return { client, server, ran }
}

async function observed() {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  const { client, ran } = await connected()
  return { client: observeMcpClient(client, { dispatcher, agentName: 'shop' }), ran, dispatcher, tree }
}

const stream = (client: Client, name = 'search', options?: object) =>
  client.experimental.tasks.callToolStream({ name, arguments: { q: 'a' } }, undefined, options)

/** Without what is another each time. */
const told = async (client: Client, name?: string, options?: object) =>
  JSON.parse(
    JSON.stringify(await all(stream(client, name, options))).replace(
      /"(taskId|createdAt|lastUpdatedAt)":"[^"]*"/g,
      '"$1":""',
    ),
  )

describe('a tool of an MCP server that runs as a task', () => {
  it.each(['search', 'broken', 'lost', 'nope'])('tells its caller the same: %s', async (name) => {
    const bare = await connected()
    const ours = await observed()

    expect(await told(ours.client, name)).toEqual(await told(bare.client, name))
    expect(ours.ran).toEqual(bare.ran)
    await settled(ours.dispatcher)
    expect(ours.tree.lines()).toEqual([
      `invoke_agent shop${name === 'lost' ? ' (error)' : ''}`,
      `  execute_tool ${name}${name === 'search' ? '' : ' (error)'}`,
    ])
  })

  it('tells the same where it is aborted, and where it is left', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    const bare = await connected()
    const ours = await observed()
    expect(await told(ours.client, 'search', { signal })).toEqual(
      await told(bare.client, 'search', { signal }),
    )

    for await (const message of stream(ours.client)) if (message.type === 'taskCreated') break
    await settled(ours.dispatcher)
    expect(ours.tree.lines()).toContain('  execute_tool search (error)')
  })

  it.each(['signal', 'connection'])(
    'ends with an error message where its %s ends while a human is asked',
    async (by) => {
      const { client, ran, dispatcher } = await observed()
      const approvals = createApprovals({ store: memoryStore() })
      dispatcher.use(approvals)
      dispatcher.use({ name: 'careful', gates: [requireHuman()] })
      const controller = new AbortController()
      const messages = all(stream(client, 'search', { signal: controller.signal }))
      const open = async () => (await approvals.list({ status: 'pending' })).length
      await expect.poll(open).toBe(1)
      const reason = new Error('enough')
      if (by === 'signal') controller.abort(reason)
      else await client.close()
      const message = by === 'signal' ? 'enough' : expect.stringContaining('Connection closed')
      expect(await messages).toEqual([{ type: 'error', error: expect.objectContaining({ message }) }])
      await expect.poll(open).toBe(0)
      expect(ran).toEqual([])
    },
  )

  it('is not asked for where it is denied', async () => {
    const { client, ran, dispatcher } = await observed()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['search'] })] })

    const messages = await all(stream(client))
    expect(messages).toMatchObject([{ type: 'result', result: { isError: true } }])
    expect(JSON.stringify(messages)).toContain('tool_not_allowed')
    expect(ran).toEqual([])
  })

  it('is decided on where it is asked for by requestStream(), too, and so is what it gives', async () => {
    const { client, dispatcher, ran, tree } = await observed()
    const gate = {
      id: 'late',
      point: 'afterToolCall' as const,
      decide: () => mutate({ content: [{ type: 'text', text: '***' }] }),
    }
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['lost'] }), gate] })
    const asked = (name: string) => {
      const request = { method: 'tools/call' as const, params: { name, arguments: { q: 'a' } } }
      return client.experimental.tasks.requestStream(request, CallToolResultSchema, { task: {} })
    }
    expect((await all(asked('search'))).at(-1)).toMatchObject({ result: { content: [{ text: '***' }] } })
    expect((await all(asked('lost'))).at(-1)).toMatchObject({ result: { isError: true } })
    expect(ran).toEqual(['search a'])
    expect(tree.lines().filter((line) => line.includes('execute_tool'))).toHaveLength(2)
  })

  it('is a call of an observed server until it is made, as the page says', async () => {
    const { client, server } = await connected()
    const dispatcher = new HookDispatcher()
    const gave: unknown[] = []
    const look = (result: unknown) => {
      gave.push(result)
      return undefined
    }
    const late = {
      id: 'late',
      point: 'afterToolCall' as const,
      decide: ({ payload }: { payload: unknown }) => look(payload),
    }
    dispatcher.use({ name: 'careful', gates: [late] })
    observeMcpServer(server, { dispatcher })
    expect((await all(stream(client))).at(-1)).toMatchObject({ result: { content: [{ text: 'found a' }] } })
    expect(gave).toMatchObject([{ task: {} }])
  })

  it('is a call of the client until it is made, too, by request() and getTaskResult(), as the page says', async () => {
    const { client, tree, dispatcher } = await observed()
    dispatcher.use({ name: 'discreet', gates: [redact({ patterns: { word: 'found' } })] })
    const params = { name: 'search', arguments: { q: 'a' }, task: { ttl: 1_000 } }
    const { task } = await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)
    const result = await client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema)
    expect(result).toMatchObject({ content: [{ text: 'found a' }] })
    await settled(dispatcher)
    expect(tree.lines()).toEqual(['invoke_agent shop', '  execute_tool search'])
  })

  it('is asked for with the arguments that a gate made, and a mock stands in for it', async () => {
    const { client, ran, dispatcher } = await observed()
    dispatcher.use({
      name: 'careful',
      gates: [{ id: 'other', point: 'beforeToolCall', decide: () => mutate({ q: 'b' }) }],
    })
    expect(JSON.stringify(await all(stream(client)))).toContain('found b')
    using _mocks = mockTools(dispatcher, [mock('search').returns({ n: 3 })])
    expect(await all(stream(client))).toMatchObject([
      { type: 'result', result: { structuredContent: { n: 3 } } },
    ])
    expect(ran).toEqual(['search b'])
  })

  it('is left alone once the client is', async () => {
    const { client, tree } = await observed()
    unobserveMcpClient(client)
    await all(stream(client))
    expect(tree.lines()).toEqual([])
  })
})
