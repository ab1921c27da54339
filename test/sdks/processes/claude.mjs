import { createSdkMcpServer, prewarm, query, startup, tool } from '@anthropic-ai/claude-agent-sdk'
import { z } from 'zod'

const wipe = tool('wipe', 'Wipes.', { what: z.string() }, async ({ what }) => {
  console.log(`${what} is wiped`)
  return { content: [{ type: 'text', text: 'wiped' }] }
})
const options = {
  cwd: process.env.HOME,
  model: 'contract',
  settingSources: [],
  tools: [],
  mcpServers: { cleaning: createSdkMcpServer({ name: 'cleaning', tools: [wipe] }) },
  allowedTools: ['mcp__cleaning__wipe'],
}
if (process.argv[2] === 'prewarm') {
  const spare = await prewarm({ options: { cwd: process.env.HOME } }).catch(({ code }) => console.log(code))
  await spare?.[Symbol.asyncDispose]()
}
const run =
  process.argv[2] === 'startup'
    ? (await startup({ options })).query('Clean up.')
    : query({ prompt: 'Clean up.', options })
for await (const message of run) if (message.type === 'result') console.log(message.result)
