import { rmSync } from 'node:fs'
import type { ContractReply } from 'hookspan/adapter/contract'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { observeCopilot, unobserveCopilot } from 'hookspan/copilot'
import { type ScriptedServer, type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { afterAll, beforeAll, vi } from 'vitest'
import { z } from 'zod'
import { stepOf } from '../adapter/subjects/model.ts'
import { NAMES, PARAMETERS, type Program } from '../attack/adapter-faults/programs.ts'
import { faultSuites } from '../attack/adapter-faults/suites.ts'
import type { World } from '../attack/adapter-faults/told.ts'
import { homeOf } from './subjects/claude-agent.ts'
import { configOf, startClient } from './subjects/copilot.ts'
import type { Untyped } from './support/sdks.ts'

// An agent that is started anew for each call that fails.
vi.setConfig({ testTimeout: 900_000 })

type Attach = Parameters<Program['run']>[1]

/** By a name that nobody looks up where the SDK is not installed. */
const CLAUDE = '@anthropic-ai/claude-agent-sdk'
const claude: Untyped = await import(CLAUDE)

const call = (name: string, q: string): ContractReply => ({
  toolCalls: [{ id: `call_${name}`, name, args: { q } }],
})

/** One call after the other: of several at once, an agent in another process begins any first. */
const REPLIES: readonly ContractReply[] = [
  call('look', 'a'),
  call('broken', 'b'),
  { content: 'One moment.', ...call('refund', 'c') },
  { content: 'all done' },
]

const NEVER_MS = 600_000

/** The model of one run. */
async function modelOf(
  world: World,
  chunks: number,
  named = (name: string) => name,
): Promise<ScriptedServer> {
  const left = REPLIES.map(({ toolCalls, ...reply }) => ({
    ...reply,
    ...(toolCalls && { toolCalls: toolCalls.map((one) => ({ ...one, name: named(one.name) })) }),
  }))
  return startScriptedServer({
    respond: ({ body }): ScriptedStep | undefined => {
      if (body.model !== 'contract') return undefined
      world.moment()
      // Whether what is said after an abort still arrives is nobody's promise.
      if (world.signal?.aborted) return { content: 'too late', latencyMs: NEVER_MS }
      const next = left.shift()
      return next && stepOf(next, chunks)
    },
  })
}

const ofClaude: Program = (() => {
  async function* messages(world: World, dispatcher: Attach) {
    const server = await modelOf(world, 3, (name) => `mcp__shop__${name}`)
    const { home, env } = homeOf()
    const query = dispatcher === undefined ? claude.query : observeClaudeAgent(claude.query, { dispatcher })
    const tools = NAMES.map((name) =>
      claude.tool(name, name, { q: z.string() }, async (args: object) => ({
        content: [{ type: 'text', text: await world.tool(name, args) }],
      })),
    )
    const abortController = new AbortController()
    world.signal?.addEventListener('abort', () => abortController.abort(world.signal?.reason))
    try {
      yield* query({
        prompt: 'go',
        options: {
          env: env(server.baseURL),
          cwd: home,
          model: 'contract',
          settingSources: [],
          tools: [],
          mcpServers: { shop: claude.createSdkMcpServer({ name: 'shop', tools }) },
          allowedTools: NAMES.map((name) => `mcp__shop__${name}`),
          ...(world.signal && { abortController }),
        },
      })
    } finally {
      await server.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  const told = async (from: AsyncIterable<Untyped>) => {
    const seen: unknown[] = []
    for await (const { type, subtype, event, message, result } of from) {
      const content = message?.content
      const blocks = Array.isArray(content)
        ? content.map((block: Untyped) => [block.type, block.text, block.content])
        : content
      seen.push([type, subtype, event?.type, blocks, result])
    }
    return seen
  }
  return {
    name: 'claude-agent',
    elsewhere: true,
    everyNth: 13,
    run: (world, dispatcher) => told(messages(world, dispatcher)),
  }
})()

let copilot: Awaited<ReturnType<typeof startClient>>
beforeAll(async () => {
  copilot = await startClient()
})
afterAll(() => copilot.stop())

const ofCopilot: Program = (() => {
  async function prompted(world: World, dispatcher: Attach, streaming: boolean): Promise<unknown> {
    const server = await modelOf(world, 2)
    const { client } = copilot
    if (dispatcher !== undefined) observeCopilot(client, { dispatcher })
    const tools = NAMES.map((name) => ({
      name,
      description: name,
      parameters: PARAMETERS,
      handler: (args: unknown) => world.tool(name, args),
    }))
    try {
      const session = await client.createSession({
        ...configOf(server.baseURL, 'contract', tools),
        streaming,
      })
      const seen: unknown[] = []
      session.on(({ type, data }: Untyped) => {
        if (/^(assistant\.(turn|message)|tool|session\.(idle|error))/.test(type))
          seen.push([type, data?.content, data?.success, data?.result?.content])
      })
      const aborted = () => void session.abort()
      world.signal?.addEventListener('abort', aborted, { once: true })
      try {
        const said = await session.sendAndWait('go')
        return [...seen, said?.data.content]
      } finally {
        await session.disconnect()
      }
    } finally {
      unobserveCopilot(client)
      await server.close()
    }
  }
  return {
    name: 'copilot',
    elsewhere: true,
    everyNth: 3,
    run: (world, dispatcher) => prompted(world, dispatcher, false),
    stream: (world, dispatcher) => prompted(world, dispatcher, true),
  }
})()

faultSuites([ofClaude, ofCopilot])
