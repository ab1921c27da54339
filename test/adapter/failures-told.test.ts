import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import * as ai from 'ai'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { hookspanMiddleware } from 'hookspan/langchain'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { type FailingCase, tellFailures } from './failures-told.ts'
import { scripted } from './subjects/ai-sdk.ts'
import { callable } from './subjects/google-genai.ts'
import { SDKS } from './subjects/mcp.ts'

interface Answer {
  readonly content: readonly { readonly is_error?: boolean; readonly content: unknown }[]
}
interface GoogleBody {
  readonly contents: readonly {
    readonly parts: readonly { readonly functionResponse: { response: object } }[]
  }[]
}

const NO_PARAMETERS = { type: 'object' as const, properties: {} }
const steps: ScriptedStep[] = [
  { toolCalls: [{ id: 'call_1', name: 'book', arguments: {} }] },
  { content: 'done' },
]
const replies = [{ toolCalls: [{ id: 'call_1', name: 'book', args: {} }] }, { content: 'done' }]

const anthropic: FailingCase = {
  name: 'anthropic',
  async tell(dispatcher, execute) {
    const fetch = scriptedFetch({ steps })
    const client = observeAnthropic(new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
    await client.beta.messages.toolRunner({
      model: 'claude',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Book.' }],
      tools: [{ name: 'book', description: 'Books.', input_schema: NO_PARAMETERS, run: execute } as never],
    })
    const answer = fetch.requests[1]?.messages.at(-1) as unknown as Answer
    const [block] = answer.content
    return { failed: block?.is_error === true, text: JSON.stringify(block?.content) }
  },
}

const google: FailingCase = {
  name: 'google-genai',
  async tell(dispatcher, execute) {
    const fetch = scriptedFetch({ steps })
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
    await observeGoogleGenAI(client, { dispatcher }).models.generateContent({
      model: 'gemini',
      contents: 'Book.',
      config: { tools: [callable('book', 'Books.', NO_PARAMETERS, execute as () => Promise<string>)] },
    })
    const body = fetch.requests[1]?.body as unknown as GoogleBody
    const { response } = body.contents.at(-1)?.parts[0]?.functionResponse ?? { response: {} }
    return { failed: 'error' in response, text: JSON.stringify(response) }
  },
}

const aiSdk: FailingCase = {
  name: 'ai-sdk',
  async tell(dispatcher, execute) {
    const model = scripted(replies)
    const tools = { book: ai.tool({ inputSchema: z.object({}), execute }) }
    const { generateText } = observeAISDK(ai, { dispatcher })
    await generateText({ model, tools, prompt: 'Book.', stopWhen: ai.isStepCount(3) })
    const message = model.doGenerateCalls[1]?.prompt.at(-1)
    const { output } = { ...(message?.content[0] as unknown as { output: { type: string } }) }
    return { failed: output.type.startsWith('error'), text: JSON.stringify(output) }
  },
}

const langchain: FailingCase = {
  name: 'langchain',
  ownFailure: new ToolMessage({ content: 'sold out', tool_call_id: 'call_1', status: 'error' }),
  async tell(dispatcher, execute) {
    const model = fakeModel().respondWithTools([{ name: 'book', args: {}, id: 'call_1' }])
    const tools = [tool(execute, { name: 'book', description: 'Books.', schema: z.object({}) })]
    const agent = createAgent({
      model: model.respond(new AIMessage('done')),
      tools,
      middleware: [hookspanMiddleware({ dispatcher })],
    })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Book.')] })
    const { status, content } = messages.at(-2) as unknown as { status: string; content: string }
    return { failed: status === 'error', text: content }
  },
}

const mcp = (version: '1' | '2', side: 'client' | 'server'): FailingCase => ({
  name: `mcp ${version}, ${side}`,
  async tell(dispatcher, execute) {
    const { Client, McpServer, InMemoryTransport } = SDKS[version]
    const server = new McpServer({ name: 'tools', version: '1.0.0' })
    server.registerTool('book', { inputSchema: z.object({}) }, async () => ({
      content: [{ type: 'text', text: String(await execute()) }],
    }))
    const client = new Client({ name: 'test', version: '1.0.0' })
    if (side === 'client') observeMcpClient(client, { dispatcher })
    else observeMcpServer(server, { dispatcher })
    const [left, right] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(left), client.connect(right)])
    const { isError, content } = await client.callTool({ name: 'book', arguments: {} })
    await client.close()
    return { failed: isError === true, text: JSON.stringify(content) }
  },
})

tellFailures([
  anthropic,
  google,
  aiSdk,
  langchain,
  mcp('1', 'client'),
  mcp('2', 'client'),
  mcp('1', 'server'),
  mcp('2', 'server'),
])
