import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'
import { scriptedTurns } from './turns.cjs'

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
console.log((await agent.generate('Clean up.')).text)
