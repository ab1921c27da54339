/** Ways in which SDKs run tools that no loop of turns names: in a durable loop, whose process dies behind each record of it. */

import type { RunnableConfig } from '@langchain/core/runnables'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { Agent, tool as agentsTool, Runner, toolSearchTool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import * as ai from 'ai'
import { observeAISDK } from 'hookspan/ai-sdk'
import { hookspanCallbacks } from 'hookspan/langchain'
import { observeMcpClient } from 'hookspan/mcp'
import { observeAgents, unobserveAgents } from 'hookspan/openai-agents'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { dyingBehindEach, type Way } from './durable/dying.ts'
import { scripted } from './subjects/ai-sdk.ts'

/** A tool that calls another one by itself. */
const toolCallers: Way = async ({ dispatcher, signal, asked, ran }) => {
  const search = ai.tool({
    inputSchema: z.object({ q: z.string() }),
    execute: async ({ q }) => {
      ran.push(`search ${q}`)
      return `found ${q}`
    },
  })
  const inputSchema = z.object({})
  const code = ai.experimental_toolCaller(ai.tool({ inputSchema } as never), {
    type: 'local',
    bind: ({ search: bound }) =>
      ai.tool({
        inputSchema,
        execute: async (_input, options) => {
          ran.push('code')
          const nested = bound as unknown as { execute(input: unknown, options: unknown): Promise<string> }
          const ask = (q: string) => nested.execute({ q }, options).catch(String)
          return [await ask('a'), await ask('b')].join(', ')
        },
      }),
  })
  const call = { toolCalls: [{ id: 'c1', name: 'code', args: {} }] }
  const { text } = await observeAISDK(ai, { dispatcher }).generateText({
    model: scripted([call, { content: 'done' }].slice(asked)),
    prompt: 'hi',
    tools: { search, code },
    experimental_toolCallers: { search: ['code'] },
    stopWhen: ai.isStepCount(5),
    abortSignal: signal,
  } as never)
  return text
}

/** Tools of an MCP server, which the loop itself calls: the last as a task, read as a stream. */
const ofServer: Way = async ({ dispatcher, signal, ran }) => {
  const server = new McpServer(
    { name: 'shop', version: '1.0.0' },
    { capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore: new InMemoryTaskStore() },
  )
  const content = (q: string) => [{ type: 'text' as const, text: `found ${q}` }]
  server.registerTool('plain', { inputSchema: { q: z.string() } }, async ({ q }) => {
    ran.push(`plain ${q}`)
    return { content: content(q) }
  })
  server.experimental.tasks.registerToolTask(
    'search',
    { inputSchema: { q: z.string() }, execution: { taskSupport: 'required' } },
    {
      createTask: async ({ q }, { taskStore }) => {
        ran.push(`search ${q}`)
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 1 })
        await taskStore.storeTaskResult(task.taskId, 'completed', { content: content(q) })
        return { task }
      },
      getTask: async (_args, { taskId, taskStore }) => taskStore.getTask(taskId),
      getTaskResult: async (_args, { taskId, taskStore }) => taskStore.getTaskResult(taskId) as never,
    },
  )
  const client = observeMcpClient(new Client({ name: 'test', version: '1.0.0' }), { dispatcher })
  const [left, right] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(left), client.connect(right)])
  await client.listTools()
  const plain = await client.callTool({ name: 'plain', arguments: { q: 'a' } }, undefined, { signal })
  const { callToolStream } = client.experimental.tasks
  const told: unknown[] = [plain]
  const asked = { name: 'search', arguments: { q: 'b' } }
  for await (const message of callToolStream.call(client.experimental.tasks, asked, undefined, { signal })) {
    if (message.type === 'result') told.push(message.result)
    if (message.type === 'error') throw message.error
  }
  await client.close()
  return JSON.stringify(told).includes('execution_unknown') ? 'done, one unknown' : JSON.stringify(told)
}

/** A tool that a search of the user's own finds. */
const toolSearch: Way = async ({ dispatcher, signal, asked, ran }) => {
  const search = agentsTool({
    name: 'search',
    description: 'Searches.',
    parameters: z.object({ q: z.string() }),
    execute: async ({ q }) => {
      ran.push(`search ${q}`)
      return 'found'
    },
  })
  const finds = toolSearchTool({
    execution: 'client',
    execute: async () => {
      ran.push('finds')
      return [search]
    },
  } as never)
  const found = {
    type: 'tool_search_call',
    id: 's1',
    execution: 'client',
    status: 'completed',
    arguments: {},
  }
  const model = new ScriptedModel(
    [
      [{ ...found, callId: 's1' } as never],
      [functionCall('search', { q: 'a' } as never, { callId: 'c1' })],
      [assistantMessage('done')],
    ].slice(asked),
  )
  const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher })
  try {
    const agent = new Agent({ name: 's', model, tools: [finds] })
    return String((await runner.run(agent, 'hi', { signal })).finalOutput)
  } finally {
    unobserveAgents(runner)
  }
}

it.each([
  ['a tool that calls others', toolCallers, false],
  ['a tool that calls others, about which a human is asked', toolCallers, true],
  ['a tool that is found', toolSearch, false],
  ['a tool that is found, about which a human is asked', toolSearch, true],
] as const)(
  '%s goes on behind whatever was kept',
  async (_name, way, asks) => {
    let records = 0
    for await (const { where, died, last, ran, failures, pending } of dyingBehindEach(way, asks)) {
      expect([where, ...failures]).toEqual([where])
      expect(last, where).toMatchObject({ reason: 'done', value: 'done' })
      const once = ran.filter((what) => what !== 'finds')
      expect([where, new Set(once).size]).toEqual([where, once.length])
      if (died) records++
      // What calls from inside of a tool cannot leave it for a human, and is refused.
      else expect(ran.includes('search a')).toBe(!(asks && way === toolCallers))
      if (!died) expect(pending).toBe(0)
    }
    expect(records).toBeGreaterThan(3)
  },
  30_000,
)

it('a chain of LangChain that is told of by callbacks is refused, whose model would be asked again', async () => {
  let asked = 0
  const chain: Way = async ({ dispatcher, signal }) => {
    const model = new FakeListChatModel({ responses: ['hello'] })
    const callbacks = [
      hookspanCallbacks({ dispatcher }),
      { handleChatModelStart: () => void asked++ },
    ] as RunnableConfig['callbacks']
    return String((await model.pipe(({ content }) => content).invoke('hi', { callbacks, signal })) ?? '')
  }
  for await (const { where, last } of dyingBehindEach(chain, false)) {
    const message = expect.stringContaining('begins a run of `langgraph`')
    expect(last, where).toMatchObject({ reason: 'error', error: { type: 'NOT_CAPABLE', message } })
  }
  expect(asked).toBe(0)
})

it.each([
  ['', false],
  [', about which a human is asked', true],
])(
  'tools of an MCP server, one of them as a task that is streamed%s, go on behind whatever was kept',
  async (_name, asks) => {
    let records = 0
    let unknown = 0
    for await (const { where, died, last, ran, events, pending } of dyingBehindEach(ofServer, asks)) {
      if (died) records++
      expect(last, where).toMatchObject({ reason: 'done', totals: { toolCalls: 2 } })
      expect([where, pending]).toEqual([where, 0])
      const told = events.filter(({ hookType }) => hookType === 'afterToolCall')
      expect([where, told.length]).toEqual([where, 2])
      const { value } = last as { value: string }
      if (value.includes('unknown')) {
        unknown++
        expect([where, ran.length]).toEqual([where, 1])
      } else {
        expect([where, ...ran]).toEqual([where, 'plain a', 'search b'])
        expect(value).toMatch(/found a.*found b/)
      }
    }
    // Each of them once, behind the record that says that it is at work; one that a human allowed is in another before that is spent.
    expect(unknown).toBe(asks ? 3 : 2)
    expect(records).toBeGreaterThan(5)
  },
  30_000,
)
