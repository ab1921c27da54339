import { Client as Client2, InMemoryTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport as Transport1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as Server2 } from '@modelcontextprotocol/server'
import type { ContractRun, ContractSubject } from 'hookspan/adapter/contract'
import { MCP_CAPABILITIES, observeMcpClient } from 'hookspan/mcp'
import { observeOpenAI } from 'hookspan/openai'
import type OpenAI from 'openai'
import { z } from 'zod'
import { contractClient, STREAMED, toolsOf } from './model.ts'

/** The packages of one version. They differ in their types, and not in what is used of them here. */
export interface Sdk {
  readonly Client: typeof Client2
  readonly McpServer: typeof Server2
  readonly InMemoryTransport: typeof Transport2
}

export const SDKS: Readonly<Record<'1' | '2', Sdk>> = {
  1: { Client: Client1, McpServer: Server1, InMemoryTransport: Transport1 } as unknown as Sdk,
  2: { Client: Client2, McpServer: Server2, InMemoryTransport: Transport2 },
}

export const mcpSubject = (version: '1' | '2'): ContractSubject => ({
  name: `observeMcpClient of version ${version}`,
  capabilities: MCP_CAPABILITIES,
  run: (run) => runOn(SDKS[version], run),
})

/** A loop of one's own on the observed `openai` client, whose tools are those of an MCP server. */
async function runOn({ Client, McpServer, InMemoryTransport }: Sdk, run: ContractRun) {
  const { dispatcher, agentName, prompt, signal, stream } = run
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
  const op = dispatcher.startOperation({
    agentName,
    input: messages,
    adapter: { name: 'mcp', capabilities: MCP_CAPABILITIES },
    ...(signal && { signal }),
  })
  const server = new McpServer({ name: 'tools', version: '1.0.0' })
  for (const { name, description, execute } of run.tools) {
    server.registerTool(name, { description, inputSchema: z.object({ q: z.string() }) }, async (args) => ({
      content: [{ type: 'text', text: await execute(args, signal ? { signal } : {}) }],
    }))
  }
  const [left, right] = InMemoryTransport.createLinkedPair()
  const mcp = observeMcpClient(new Client({ name: 'contract', version: '1.0.0' }), { dispatcher })
  await Promise.all([server.connect(left), mcp.connect(right)])
  const client = observeOpenAI(contractClient(run).client, { dispatcher })
  const body = { model: 'contract', messages, tools: toolsOf(run) }

  async function streamed(): Promise<OpenAI.ChatCompletionMessage> {
    let content = ''
    for await (const chunk of await client.chat.completions.create({ ...body, ...STREAMED })) {
      content += chunk.choices[0]?.delta.content ?? ''
      if (stream === 'abandon') break
    }
    return { role: 'assistant', content, refusal: null }
  }
  async function turn(): Promise<string | undefined> {
    const reply =
      stream === undefined
        ? ((await client.chat.completions.create(body)).choices[0]?.message as OpenAI.ChatCompletionMessage)
        : await streamed()
    messages.push(reply)
    if (!reply.tool_calls?.length) return reply.content ?? ''
    const told = await Promise.all(
      reply.tool_calls.map(async (call) => {
        const { name, arguments: text } = (call as OpenAI.ChatCompletionMessageFunctionToolCall).function
        const { content } = await mcp.callTool({ name, arguments: JSON.parse(text) })
        const texts = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
        return { role: 'tool' as const, tool_call_id: call.id, content: texts }
      }),
    )
    messages.push(...told)
    return undefined
  }

  function unlessAborted(error: unknown): undefined {
    if (!op.signal?.aborted) throw error
  }

  try {
    for (;;) {
      const content = await op.step(() => turn().catch(unlessAborted))
      op.signal?.throwIfAborted()
      if (content === undefined) continue
      await op.complete({ content })
      return { status: 'done' as const, content }
    }
  } catch (error) {
    if (op.signal?.aborted) await op.complete({ reason: 'interrupted' })
    else await op.fail(error)
    if ((error as { code?: string }).code === 'NOT_CAPABLE') throw error
    return { status: signal?.aborted ? ('interrupted' as const) : ('error' as const) }
  } finally {
    await mcp.close()
  }
}
