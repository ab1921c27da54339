import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Agent, tool as agentsTool, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import * as ai from 'ai'
import type { HookDispatcher } from 'hookspan'
import type { ContractReply } from 'hookspan/adapter/contract'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { hookspanMiddleware } from 'hookspan/langchain'
import { observeMcpClient } from 'hookspan/mcp'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { observeAgents } from 'hookspan/openai-agents'
import { type AgentMiddleware, createAgent, createMiddleware, tool as langchainTool } from 'langchain'
import OpenAI from 'openai'
import { z } from 'zod'
import { scripted } from '../../adapter/subjects/ai-sdk.ts'
import { callable } from '../../adapter/subjects/google-genai.ts'
import { SDKS } from '../../adapter/subjects/mcp.ts'
import { stepOf } from '../../adapter/subjects/model.ts'
import type { World } from './told.ts'

/** A program as a user of the SDK has it. Without a dispatcher hookspan is not there. */
export interface Program {
  readonly name: string
  /** Of the calls of ours, so many to one that fails: where each piece of a stream is one. @default 1 */
  readonly everyNth?: number
  /** The agent is a process of its own: how long it takes is not told by turns of this one's event loop. */
  readonly elsewhere?: boolean
  run(world: World, dispatcher: HookDispatcher | undefined): Promise<unknown>
  /** The same, streamed: gives the events, in their order. */
  stream?(world: World, dispatcher: HookDispatcher | undefined): Promise<unknown>
}

const call = (id: string, name: string, q: string) => ({ id, name, args: { q } })

/** Two calls at once, one of which throws; then a dangerous one; then the answer. */
export const REPLIES: readonly ContractReply[] = [
  { toolCalls: [call('call_1', 'look', 'a'), call('call_2', 'broken', 'b')] },
  { content: 'One moment.', toolCalls: [call('call_3', 'refund', 'c')] },
  { content: 'all done' },
]

export const NAMES = ['look', 'broken', 'refund'] as const

export const PARAMETERS = {
  type: 'object' as const,
  properties: { q: { type: 'string' } },
  required: ['q'],
  additionalProperties: false,
}

/** The SDK's endpoint. */
export function endpoint(world: World) {
  const left = [...REPLIES]
  const scripted = scriptedFetch({
    respond: () => {
      world.moment()
      const next = left.shift()
      return next && stepOf(next, 2)
    },
  })
  return async (url: unknown, init?: RequestInit): Promise<Response> => {
    const response = await scripted(url as string, init as never)
    // As a request over a network ends.
    init?.signal?.throwIfAborted()
    return response
  }
}

export const observed = <T>(
  one: T,
  dispatcher: HookDispatcher | undefined,
  observe: (dispatcher: HookDispatcher) => T,
): T => (dispatcher === undefined ? one : observe(dispatcher))

export async function eventsOf(world: World, events: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const event of events) {
    seen.push(event)
    world.moment()
  }
  return seen
}

const aiSdk: Program = (() => {
  const given = (world: World) => ({
    model: scripted(REPLIES),
    prompt: 'go',
    maxRetries: 0,
    stopWhen: ai.isStepCount(5),
    ...(world.signal && { abortSignal: world.signal }),
    tools: Object.fromEntries(
      NAMES.map((name) => [
        name,
        ai.tool({
          description: name,
          inputSchema: ai.jsonSchema<{ q: string }>(PARAMETERS as never),
          // One of them gives results on its way.
          ...(name === 'look'
            ? {
                async *execute(args: { q: string }) {
                  yield 'looking'
                  yield await world.tool(name, args)
                },
              }
            : { execute: (args: { q: string }) => world.tool(name, args) }),
        } as never),
      ]),
    ) as ai.ToolSet,
  })
  const functions = (dispatcher: HookDispatcher | undefined) =>
    observed<typeof ai>(ai, dispatcher, (to) => observeAISDK(ai, { dispatcher: to }))
  return {
    name: 'ai-sdk',
    async run(world, dispatcher) {
      const { text, content, finishReason, usage, steps, response } = await functions(
        dispatcher,
      ).generateText(given(world))
      const { messages } = response
      return { text, content, finishReason, usage, steps: steps.map((step) => step.content), messages }
    },
    async stream(world, dispatcher) {
      const { stream } = functions(dispatcher).streamText({ ...given(world), onError: () => {} })
      return eventsOf(world, stream)
    },
  }
})()

const openaiAgents: Program = (() => {
  const start = (world: World, dispatcher: HookDispatcher | undefined) => {
    setTracingDisabled(true)
    const client = new OpenAI({ apiKey: 'k', fetch: endpoint(world), maxRetries: 0 })
    const modelProvider = new OpenAIProvider({ openAIClient: client as never, useResponses: false })
    const agent = new Agent({
      name: 'support',
      model: 'contract',
      tools: NAMES.map((name) =>
        agentsTool({
          name,
          description: name,
          parameters: PARAMETERS as never,
          strict: true,
          execute: (args) => world.tool(name, args),
        }),
      ),
    })
    const runner = observed(new Runner({ modelProvider }), dispatcher, (to) =>
      observeAgents(new Runner({ modelProvider }), { dispatcher: to }),
    )
    return { agent, runner, options: { ...(world.signal && { signal: world.signal }) } }
  }
  return {
    name: 'openai-agents',
    async run(world, dispatcher) {
      const { agent, runner, options } = start(world, dispatcher)
      const { finalOutput, history, newItems } = await runner.run(agent, 'go', options)
      return { finalOutput, history, items: newItems.map(({ type }) => type) }
    },
    async stream(world, dispatcher) {
      const { agent, runner, options } = start(world, dispatcher)
      const result = await runner.run(agent, 'go', { ...options, stream: true })
      const events = await eventsOf(world, result)
      await result.completed
      return events.map((event) => {
        const { type, name, data } = event as { type: string; name?: string; data?: { type?: string } }
        return [type, name, data?.type]
      })
    },
  }
})()

const langchain: Program = (() => {
  const start = (world: World, dispatcher: HookDispatcher | undefined, without: AgentMiddleware[] = []) => {
    const model = fakeModel()
    for (const { content = '', toolCalls = [] } of REPLIES) {
      model.respond(() => {
        world.moment()
        return new AIMessage({
          content,
          tool_calls: toolCalls.map((one) => ({ ...one, type: 'tool_call' as const })),
        })
      })
    }
    const agent = createAgent({
      model,
      tools: NAMES.map((name) =>
        langchainTool((args: { q: string }) => world.tool(name, args), {
          name,
          description: name,
          schema: PARAMETERS as never,
        }),
      ) as never,
      middleware: observed<AgentMiddleware[]>(without, dispatcher, (to) => [
        hookspanMiddleware({ dispatcher: to }),
      ]) as never,
    })
    return { agent, config: { ...(world.signal && { signal: world.signal }) } }
  }
  const asked = () => ({ messages: [new HumanMessage('go')] }) as never
  return {
    name: 'langchain',
    async run(world, dispatcher) {
      const { agent, config } = start(world, dispatcher)
      const { messages } = await agent.invoke(asked(), config as never)
      return (messages as { toDict(): unknown }[]).map((message) => message.toDict())
    },
    async stream(world, dispatcher) {
      // Each middleware with these two is a node before the agent and one after it, of which values tell.
      const nothing = createMiddleware({ name: 'nothing', beforeAgent: () => {}, afterAgent: () => {} })
      const { agent, config } = start(world, dispatcher, [nothing])
      return eventsOf(world, await agent.stream(asked(), { ...config, streamMode: 'values' } as never))
    },
  }
})()

const anthropic: Program = (() => {
  const start = (world: World, dispatcher: HookDispatcher | undefined, stream: boolean) => {
    const plain = new Anthropic({ apiKey: 'k', fetch: endpoint(world), maxRetries: 0 })
    const client = observed(plain, dispatcher, (to) => observeAnthropic(plain, { dispatcher: to }))
    return client.beta.messages.toolRunner(
      {
        model: 'contract',
        max_tokens: 100,
        stream,
        messages: [{ role: 'user', content: 'go' }],
        tools: NAMES.map((name) => ({
          name,
          description: name,
          input_schema: PARAMETERS,
          run: (args: unknown) => world.tool(name, args),
        })) as never,
      },
      world.signal && { signal: world.signal },
    )
  }
  return {
    name: 'anthropic',
    async run(world, dispatcher) {
      const runner = start(world, dispatcher, false)
      return { last: await runner.runUntilDone(), messages: runner.params.messages }
    },
    async stream(world, dispatcher) {
      const turns: unknown[] = []
      for await (const turn of start(world, dispatcher, true))
        turns.push(await eventsOf(world, turn as never))
      return turns
    },
  }
})()

const runTools: Program = (() => {
  const start = (world: World, dispatcher: HookDispatcher | undefined, stream: boolean) => {
    const plain = new OpenAI({ apiKey: 'k', fetch: endpoint(world), maxRetries: 0 })
    const client = observed(plain, dispatcher, (to) => observeOpenAI(plain, { dispatcher: to }))
    const tools = NAMES.map((name) => ({
      type: 'function',
      function: {
        name,
        description: name,
        parameters: PARAMETERS,
        parse: JSON.parse,
        // It would end the run, of which nothing else could fail then.
        function: (args: unknown) => world.tool(name, args).catch(String),
      },
    }))
    const messages = [{ role: 'user', content: 'go' }]
    const body = { model: 'contract', stream, messages, tools }
    return client.chat.completions.runTools(body as never, world.signal && { signal: world.signal })
  }
  return {
    name: 'openai, runTools',
    async run(world, dispatcher) {
      const runner = start(world, dispatcher, false)
      return { last: await runner.finalContent(), messages: runner.messages }
    },
    async stream(world, dispatcher) {
      return eventsOf(world, start(world, dispatcher, true) as never)
    },
  }
})()

const google: Program = (() => {
  const start = (world: World, dispatcher: HookDispatcher | undefined) => {
    const plain = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch: endpoint(world) } as never })
    const client = observed(plain, dispatcher, (to) => observeGoogleGenAI(plain, { dispatcher: to }))
    const tools = NAMES.map((name) => callable(name, name, PARAMETERS, (args) => world.tool(name, args)))
    const config = { tools, ...(world.signal && { abortSignal: world.signal }) }
    return { client, params: { model: 'contract', contents: 'go', config } }
  }
  return {
    name: 'google-genai',
    async run(world, dispatcher) {
      const { client, params } = start(world, dispatcher)
      const { text, automaticFunctionCallingHistory } = await client.models.generateContent(params)
      return { text, automaticFunctionCallingHistory }
    },
    async stream(world, dispatcher) {
      const { client, params } = start(world, dispatcher)
      return eventsOf(world, await client.models.generateContentStream(params))
    },
  }
})()

type Message = OpenAI.ChatCompletionMessageParam

/** The loop that people write themselves. */
async function loop(
  client: OpenAI,
  world: World,
  tool: (name: string, args: Record<string, unknown>) => Promise<string>,
): Promise<readonly Message[]> {
  const messages: Message[] = [{ role: 'user', content: 'go' }]
  const tools = NAMES.map((name) => ({
    type: 'function' as const,
    function: { name, description: name, parameters: PARAMETERS },
  }))
  const options = world.signal && { signal: world.signal }
  for (;;) {
    const reply = await client.chat.completions.create({ model: 'contract', messages, tools }, options)
    const message = reply.choices[0]?.message as OpenAI.ChatCompletionMessage
    messages.push(message)
    if (!message.tool_calls) return messages
    const told = await Promise.all(
      message.tool_calls.map(async (one) => {
        const { name, arguments: text } = (one as OpenAI.ChatCompletionMessageFunctionToolCall).function
        const content = await tool(name, JSON.parse(text)).catch(String)
        return { role: 'tool' as const, tool_call_id: one.id, content }
      }),
    )
    messages.push(...told)
  }
}

const openaiClient = (world: World, dispatcher: HookDispatcher | undefined): OpenAI => {
  const plain = new OpenAI({ apiKey: 'k', fetch: endpoint(world), maxRetries: 0 })
  return observed(plain, dispatcher, (to) => observeOpenAI(plain, { dispatcher: to }))
}

const openai: Program = {
  name: 'openai',
  run: (world, dispatcher) =>
    loop(openaiClient(world, dispatcher), world, (name, args) => world.tool(name, args)),
  async stream(world, dispatcher) {
    const client = openaiClient(world, dispatcher)
    const body = {
      model: 'contract',
      messages: [{ role: 'user' as const, content: 'go' }],
      stream: true as const,
    }
    const options = world.signal && { signal: world.signal }
    return eventsOf(world, await client.chat.completions.create(body, options))
  },
}

const mcp = (version: '1' | '2'): Program => ({
  name: `mcp ${version}`,
  async run(world, dispatcher) {
    const { Client, McpServer, InMemoryTransport } = SDKS[version]
    const server = new McpServer({ name: 'tools', version: '1.0.0' })
    for (const name of NAMES) {
      server.registerTool(
        name,
        { description: name, inputSchema: z.object({ q: z.string() }) },
        async (args) => ({
          content: [{ type: 'text', text: await world.tool(name, args) }],
        }),
      )
    }
    const [left, right] = InMemoryTransport.createLinkedPair()
    const plain = new Client({ name: 'program', version: '1.0.0' })
    const client = observed(plain, dispatcher, (to) => observeMcpClient(plain, { dispatcher: to }))
    await Promise.all([server.connect(left), client.connect(right)])
    const model = new OpenAI({ apiKey: 'k', fetch: endpoint(world), maxRetries: 0 })
    try {
      return await loop(model, world, async (name, args) => {
        const result = await client.callTool({ name, arguments: args })
        return JSON.stringify(result)
      })
    } finally {
      await client.close()
    }
  },
})

/** One for each SDK that hookspan attaches to and that everybody who works on it has. */
export const PROGRAMS: readonly Program[] = [
  aiSdk,
  openaiAgents,
  langchain,
  anthropic,
  google,
  openai,
  runTools,
  mcp('1'),
  mcp('2'),
]
