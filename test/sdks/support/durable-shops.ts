/** Loops that use SDKs in ways in which no turn of a model asks for the tool `write`, or nobody waits for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeMastra } from 'hookspan/mastra'
import { observeMcpClient } from 'hookspan/mcp'
import type { DurableLoop } from 'hookspan/restate'
import { observeStrands } from 'hookspan/strands'
import { z } from 'zod'
import type { Scenario } from '../../durable/support/scenario.ts'
import type { Untyped } from './sdks.ts'

type Shop = DurableLoop<{ prompt: string }>

const load = async (...names: string[]): Promise<Untyped> =>
  Object.assign({}, ...(await Promise.all(names.map((name) => import(name)))))

const parameters = z.object({})

const writing = (say: Scenario['say']) => async () => {
  say({ tool: 'write', phase: 'begin', key: '' })
  await sleep(Number(process.env.TOOL_MS ?? 0))
  say({ tool: 'write', phase: 'end', key: '' })
  return 'write done'
}

/** A tool that a workflow of Google's ADK runs by itself. */
async function adkNode({ dispatcher, say }: Scenario): Promise<Shop> {
  const { FunctionTool, InMemoryRunner, START, ToolNode, Workflow } = await load('@google/adk')
  return async ({ signal: abortSignal }) => {
    const tool = new FunctionTool({
      name: 'write',
      description: 'Writes.',
      parameters,
      execute: writing(say),
    })
    const agent = new Workflow({ name: 'w', edges: [[START, new ToolNode(tool)]] })
    const runner = new InMemoryRunner({ agent, appName: 'shop', plugins: [hookspanPlugin({ dispatcher })] })
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'shop', userId: 'u' })
    const newMessage = { role: 'user', parts: [{ text: '{}' }] }
    const said: unknown[] = []
    for await (const event of runner.runAsync({ userId: 'u', sessionId, newMessage, abortSignal })) {
      for (const { text, functionResponse } of event.content?.parts ?? []) said.push(text ?? functionResponse)
    }
    return JSON.stringify(said)
  }
}

/** Asks for the tool, and then says what that gave. */
async function statelessModel(): Promise<Untyped> {
  const { MockLanguageModelV4, simulateReadableStream } = await load('ai', 'ai/test')
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  return new MockLanguageModelV4({
    doStream: async ({ prompt }: Untyped) => {
      const told = prompt.findLast(({ role }: Untyped) => role === 'tool')
      const chunks = told
        ? [
            { type: 'text-start', id: 't' },
            { type: 'text-delta', id: 't', delta: JSON.stringify(told.content) },
            { type: 'text-end', id: 't' },
          ]
        : [{ type: 'tool-call', toolCallId: 'c1', toolName: 'write', input: '{}' }]
      const unified = told ? 'stop' : 'tool-calls'
      const finish = { type: 'finish', finishReason: { unified, raw: unified }, usage }
      return { stream: simulateReadableStream({ chunks: [...chunks, finish] }) }
    },
  })
}

/** A stream of Mastra that is read until nothing more comes. */
async function mastraIdle({ dispatcher, say }: Scenario): Promise<Shop> {
  const names = ['', '/agent', '/memory', '/storage', '/tools'].map((name) => `@mastra/core${name}`)
  const { Agent, createTool, InMemoryStore, Mastra, MockMemory } = await load(...names)
  const model = await statelessModel()
  return async ({ signal: abortSignal }) => {
    const write = createTool({
      id: 'write',
      description: 'Writes.',
      inputSchema: parameters,
      execute: writing(say),
    })
    const settings = { id: 'shop', name: 'shop', instructions: '', model, tools: { write } }
    const agent = observeMastra<Untyped>(new Agent({ ...settings, memory: new MockMemory() }), { dispatcher })
    new Mastra({ agents: { shop: agent }, storage: new InMemoryStore(), logger: false })
    const memory = { thread: 't', resource: 'r' }
    const { textStream } = await agent.stream('hi', { memory, untilIdle: true, abortSignal })
    let text = ''
    for await (const piece of textStream) text += piece
    return text
  }
}

/** A tool of an MCP server that runs as a task, whose stream the loop itself reads. */
async function mcpTask({ dispatcher, say }: Scenario): Promise<Shop> {
  const sdk = '@modelcontextprotocol/sdk'
  const { Client, InMemoryTaskStore, InMemoryTransport, McpServer } = await load(
    `${sdk}/client/index.js`,
    `${sdk}/experimental/tasks/stores/in-memory.js`,
    `${sdk}/inMemory.js`,
    `${sdk}/server/mcp.js`,
  )
  return async ({ signal }) => {
    const capabilities = { tasks: { requests: { tools: { call: {} } } } }
    const server = new McpServer(
      { name: 'shop', version: '1' },
      { capabilities, taskStore: new InMemoryTaskStore() },
    )
    const handlers = {
      createTask: async (_args: unknown, { taskStore }: Untyped) => {
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 10 })
        const content = [{ type: 'text', text: await writing(say)() }]
        await taskStore.storeTaskResult(task.taskId, 'completed', { content })
        return { task }
      },
      getTask: (_args: unknown, { taskId, taskStore }: Untyped) => taskStore.getTask(taskId),
      getTaskResult: (_args: unknown, { taskId, taskStore }: Untyped) => taskStore.getTaskResult(taskId),
    }
    const execution = { taskSupport: 'required' }
    server.experimental.tasks.registerToolTask('write', { inputSchema: {}, execution }, handlers)
    const client = observeMcpClient<Untyped>(new Client({ name: 'shop', version: '1' }), { dispatcher })
    const [left, right] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(left), client.connect(right)])
    await client.listTools()
    const asked = { name: 'write', arguments: {} }
    let last: unknown
    for await (const message of client.experimental.tasks.callToolStream(asked, undefined, { signal })) {
      last = message
    }
    await client.close()
    return JSON.stringify(last)
  }
}

/** A tool that Strands runs in the background. */
async function strandsBackground({ dispatcher, say }: Scenario): Promise<Shop> {
  const { Agent, tool } = await load('@strands-agents/sdk')
  return async ({ signal: cancelSignal }) => {
    const write = tool({
      name: 'write',
      description: 'Writes.',
      inputSchema: parameters,
      callback: writing(say),
    })
    const backgroundTasks = { always: ['write'] }
    const agent = new Agent({ model: 'never-asked', tools: [write], printer: false, backgroundTasks })
    await observeStrands<Untyped>(agent, { dispatcher }).invoke('hi', { cancelSignal })
    return 'it was not refused'
  }
}

export const SDK_WAYS: Readonly<Record<string, (scene: Scenario) => Promise<Shop>>> = {
  'adk-node': adkNode,
  'mastra-idle': mastraIdle,
  'mcp-task': mcpTask,
  'strands-background': strandsBackground,
}
