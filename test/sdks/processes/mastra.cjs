const { Agent } = require('@mastra/core/agent')
const { createTool } = require('@mastra/core/tools')
const { MockLanguageModelV4 } = require('ai/test')
const { z } = require('zod')
const { scriptedTurns } = require('./turns.cjs')

const wipe = createTool({
  id: 'wipe',
  description: 'Wipes.',
  inputSchema: z.object({ what: z.string() }),
  execute: async ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
})
const model = new MockLanguageModelV4({ modelId: 'scripted', ...scriptedTurns() })
const agent = new Agent({ id: 'cleaner', name: 'cleaner', instructions: 'Clean.', model, tools: { wipe } })
agent.stream('Clean up.').then(async ({ textStream }) => {
  for await (const text of textStream) console.log(text)
})
