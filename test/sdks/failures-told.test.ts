import { rmSync } from 'node:fs'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { observeCopilot } from 'hookspan/copilot'
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeMastra } from 'hookspan/mastra'
import { observeStrands } from 'hookspan/strands'
import { type FailingCase, tellFailures } from '../adapter/failures-told.ts'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { contractClient } from '../adapter/subjects/model.ts'
import { homeOf, scriptedClaude } from './subjects/claude-agent.ts'
import { configOf, scriptedCopilot, startClient } from './subjects/copilot.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

const NAMES = {
  claude: '@anthropic-ai/claude-agent-sdk',
  adk: '@google/adk',
  mastra: '@mastra/core',
  strands: '@strands-agents/sdk',
}
const NO_PARAMETERS = { type: 'object', properties: {} }
const asked = (name = 'book') => [{ toolCalls: [{ id: 'call_1', name, args: {} }] }, { content: 'done' }]

const strands: FailingCase = {
  name: 'strands',
  async tell(dispatcher, execute) {
    const { Agent, tool }: Untyped = await import(NAMES.strands)
    const { OpenAIModel }: Untyped = await import(`${NAMES.strands}/models/openai`)
    const { client } = contractClient({ replies: asked() } as Untyped)
    const agent = new Agent({
      name: 'support',
      model: new OpenAIModel({ api: 'responses', modelId: 'contract', client }),
      tools: [tool({ name: 'book', description: 'Books.', inputSchema: NO_PARAMETERS, callback: execute })],
      printer: false,
    })
    await (observeStrands(agent, { dispatcher }) as Untyped).invoke('Book.')
    const { status, content } = agent.messages.at(-2).content[0]
    return { failed: status === 'error', text: JSON.stringify(content) }
  },
}

const adk: FailingCase = {
  name: 'google-adk',
  async tell(dispatcher, execute) {
    const { FunctionTool, InMemoryRunner, LlmAgent }: Untyped = await import(NAMES.adk)
    const model = new ScriptedLlm(asked())
    const tools = [
      new FunctionTool({ name: 'book', description: 'Books.', parameters: NO_PARAMETERS, execute }),
    ]
    const agent = new LlmAgent({ name: 'support', model, tools })
    const runner = new InMemoryRunner({ agent, appName: 'shop', plugins: [hookspanPlugin({ dispatcher })] })
    const session = await runner.sessionService.createSession({ appName: 'shop', userId: 'u' })
    const newMessage = { role: 'user', parts: [{ text: 'Book.' }] }
    for await (const _ of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage }));
    const { response } = model.requests[1].contents.at(-1).parts[0].functionResponse
    return { failed: 'error' in response, text: JSON.stringify(response) }
  },
}

const mastra: FailingCase = {
  name: 'mastra',
  async tell(dispatcher, execute) {
    const { Agent }: Untyped = await import(`${NAMES.mastra}/agent`)
    const { createTool }: Untyped = await import(`${NAMES.mastra}/tools`)
    const model = scripted(asked())
    const book = createTool({ id: 'book', description: 'Books.', inputSchema: NO_PARAMETERS, execute })
    const agent = new Agent({ id: 'support', name: 'support', instructions: '', model, tools: { book } })
    await (observeMastra(agent, { dispatcher }) as Untyped).generate('Book.')
    const calls = [...model.doStreamCalls, ...model.doGenerateCalls]
    const [, second]: Untyped = calls
    const { output } = second.prompt.at(-1).content[0]
    return { failed: output.type.startsWith('error'), text: JSON.stringify(output) }
  },
}

const claude: FailingCase = {
  name: 'claude-agent',
  async tell(dispatcher, execute) {
    const sdk: Untyped = await import(NAMES.claude)
    const server = await scriptedClaude({ contract: asked('mcp__shop__book') })
    const { home, env } = homeOf()
    const book = sdk.tool('book', 'Books.', {}, async () => ({
      content: [{ type: 'text', text: await execute() }],
    }))
    const options = {
      env: env(server.baseURL),
      cwd: home,
      model: 'contract',
      settingSources: [],
      tools: [],
      mcpServers: { shop: sdk.createSdkMcpServer({ name: 'shop', tools: [book] }) },
      allowedTools: ['mcp__shop__book'],
    }
    try {
      for await (const _ of observeClaudeAgent<Untyped>(sdk.query, { dispatcher })({
        prompt: 'Book.',
        options,
      }));
      const bodies = server.requests.map(({ body }) => body as Untyped)
      const blocks = bodies
        .flatMap(({ messages = [] }) => messages)
        .flatMap(({ content }: Untyped) => content)
      const { is_error, content } = blocks.findLast(({ type }: Untyped) => type === 'tool_result')
      return { failed: is_error === true, text: JSON.stringify(content) }
    } finally {
      await server.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    }
  },
}

const copilot: FailingCase = {
  name: 'copilot',
  ownFailure: { textResultForLlm: 'sold out', resultType: 'failure' },
  hidesThrown: true,
  async tell(dispatcher, execute) {
    const server = await scriptedCopilot({ contract: asked() })
    const { client, stop } = await startClient()
    observeCopilot(client, { dispatcher })
    const book = { name: 'book', description: 'Books.', parameters: NO_PARAMETERS, handler: execute }
    try {
      const session = await client.createSession(configOf(server.baseURL, 'contract', [book]))
      let failed = false
      session.on('tool.execution_complete', ({ data }: Untyped) => {
        failed = !data.success
      })
      await session.sendAndWait('Book.')
      await session.disconnect()
      const last: Untyped = server.requests.at(-1)
      const { messages } = last.body
      return { failed, text: messages.findLast(({ role }: Untyped) => role === 'tool').content }
    } finally {
      await stop()
      await server.close()
    }
  },
}

tellFailures([strands, adk, mastra, claude, copilot])
