/** `hookspan init` on the SDKs that only test/sdks has: plain programs are attached, and run. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { runCli } from '../support/run-cli.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RESOLVE = new URL('support/resolve.ts', import.meta.url).href

const PROGRAMS: Readonly<Record<string, { sdk: string; text: string }>> = {
  strands: {
    sdk: '@strands-agents/sdk',
    text: `import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { scriptedFetch } from '${ROOT}/src/mock/index.ts'
import { z } from 'zod'

const fetch = scriptedFetch({
  steps: [{ toolCalls: [{ id: '1', name: 'delete_order', arguments: { id: 7 } }] }, { content: 'done' }],
})
const delete_order = tool({
  name: 'delete_order',
  description: 'Deletes it.',
  inputSchema: z.object({ id: z.number() }),
  callback: () => (console.log('it is gone'), 'gone'),
})
const model = new OpenAIModel({ api: 'responses', modelId: 'gpt-4o', apiKey: 'none', clientConfig: { fetch } })
const agent = new Agent({ name: 'support', model, tools: [delete_order], printer: false })
await agent.invoke('Delete order 7.')
console.log('done')
`,
  },
  'google-adk': {
    sdk: '@google/adk',
    text: `import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, LogLevel, setLogLevel } from '@google/adk'
import { z } from 'zod'

setLogLevel(LogLevel.ERROR)
class Scripted extends BaseLlm {
  turns = [[{ functionCall: { id: '1', name: 'delete_order', args: { id: 7 } } }], [{ text: 'done' }]]
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: this.turns.shift() ?? [] } }
  }
  async connect() {
    throw new Error('not live')
  }
}
const deleteOrder = new FunctionTool({
  name: 'delete_order',
  description: 'Deletes an order.',
  parameters: z.object({ id: z.number() }),
  execute: () => (console.log('it is gone'), 'gone'),
})
const agent = new LlmAgent({ name: 'support', model: new Scripted({ model: 'scripted' }), tools: [deleteOrder] })
const runner = new InMemoryRunner({
  agent,
  appName: 'shop',
})
const newMessage = { role: 'user', parts: [{ text: 'Delete order 7.' }] }
for await (const { content } of runner.runEphemeral({ userId: 'ines', newMessage })) {
  for (const { text } of content?.parts ?? []) if (text !== undefined) console.log(text)
}
`,
  },
  mastra: {
    sdk: '@mastra/core',
    text: `import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { scripted } from '${ROOT}/examples/ai-sdk/scripted.ts'

const agent = new Agent({
  id: 'support',
  name: 'support',
  instructions: 'You help with orders.',
  model: scripted([{ tool: 'delete_order', input: { id: 7 } }, 'done']),
  tools: {
    delete_order: createTool({
      id: 'delete_order',
      description: 'Deletes an order.',
      inputSchema: z.object({ id: z.number() }),
      execute: async () => (console.log('it is gone'), 'gone'),
    }),
  },
})
console.log((await agent.generate('Delete order 7.')).text)
`,
  },
  'claude-agent': {
    sdk: '@anthropic-ai/claude-agent-sdk',
    text: `import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk'
import { z } from 'zod'
import { scripted } from '${ROOT}/examples/claude-agent/scripted.ts'

const orders = createSdkMcpServer({
  name: 'orders',
  tools: [
    tool('delete_order', 'Deletes an order.', { id: z.number() }, async () => {
      console.log('it is gone')
      return { content: [{ type: 'text', text: 'gone' }] }
    }),
  ],
})
const claude = await scripted([
  { toolCalls: [{ name: 'mcp__orders__delete_order', arguments: { id: 7 } }] },
  { content: 'done' },
])
const options = { ...claude.options, mcpServers: { orders }, allowedTools: ['mcp__orders__delete_order'] }
for await (const message of query({ prompt: 'Delete order 7.', options })) {
  if (message.type === 'result' && message.subtype === 'success') console.log(message.result)
}
await claude.close()
`,
  },
}

it.each(Object.entries(PROGRAMS))(
  'attaches %s, and the first policy holds',
  async (adapter, { sdk, text }) => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-init-sdk-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(join(folder, 'src'))
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ type: 'module', dependencies: { [sdk]: '*' } }),
    )
    writeFileSync(join(folder, 'src/agent.mjs'), text)
    const collector = await startCollector()
    onTestFinished(() => collector.stop())

    const init = await runCli(['init', '--yes'], { cwd: folder })
    expect([init.code, init.stderr]).toEqual([0, ''])
    expect(readFileSync(join(folder, 'src/agent.mjs'), 'utf8')).toContain(`from 'hookspan/${adapter}'`)
    const again = await runCli(['init', '--yes'], { cwd: folder })
    expect(again.stdout).toContain('Nothing to do')

    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      HOOKSPAN_CONFIG_HOME: '/nowhere',
      NODE_NO_WARNINGS: '1',
    }
    const ran = await runCli([join(folder, 'src/agent.mjs')], {
      command: `--import=${RESOLVE}`,
      cwd: folder,
      env,
    })
    expect([ran.code, ran.stdout.trim()], ran.stderr).toEqual([0, 'done'])
    expect(
      collector.names().some((name) => name.startsWith('execute_tool') && name.includes('delete_order')),
    ).toBe(true)
  },
)
