// Each SDK twice in one process, in two versions, as a program has it whose library brings its own.

import * as newer from '../../register/processes/newest-copies.mjs'
import * as older from '../oldest/processes/copies.mjs'

const which = process.argv[2]
const messages = [{ role: 'user', content: 'hi' }]
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }

async function mcp(Client, McpServer, { createLinkedPair }) {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('find', {}, async () => ({ content: [{ type: 'text', text: 'found' }] }))
  const [left, right] = createLinkedPair()
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await Promise.all([server.connect(left), client.connect(right)])
  const { content } = await client.callTool({ name: 'find', arguments: {} })
  await client.close()
  return content[0].text
}

const each = (of, name) => ({
  openai: async () =>
    (await new of.OpenAI().chat.completions.create({ model: `${name}-openai`, messages })).choices[0].message
      .content,
  anthropic: async () =>
    (
      await new of.Anthropic({ apiKey: 'none' }).messages.create({
        model: `${name}-anthropic`,
        max_tokens: 9,
        messages,
      })
    ).content[0].text,
  'ai-sdk': async () => {
    const doGenerate = async () => ({
      content: [{ type: 'text', text: 'It is on its way.' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    })
    const model = {
      specificationVersion: 'v4',
      provider: 'p',
      modelId: `${name}-ai`,
      supportedUrls: {},
      doGenerate,
    }
    return (await of.generateText({ model, prompt: 'hi' })).text
  },
  langchain: async () => {
    const agent = of.createAgent({
      name: `${name}-langchain`,
      model: new of.FakeToolCallingModel({ toolCalls: [[]] }),
      tools: [],
    })
    return (await agent.invoke({ messages })).messages.at(-1).text
  },
  mcp: () => mcp(of.Client, of.McpServer, of.InMemoryTransport),
  mcp2: () => mcp(of.Client2, of.McpServer2, of.InMemoryTransport2),
})

for (const [name, of] of Object.entries({ older, newer })) {
  if (which !== undefined && which !== name) continue
  for (const [sdk, run] of Object.entries(each(of, name))) console.log(`${name} ${sdk}: ${await run()}`)
}
