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
const scripted = (...call) => new MockLanguageModelV4({ modelId: 'scripted', ...scriptedTurns(...call) })
const agent = (id, model, more) =>
  new Agent({ id, name: id, description: id, instructions: 'Clean.', model, ...more })
const cleaner = agent('cleaner', scripted(), { tools: { wipe } })
const asked =
  process.argv[2] === 'below'
    ? agent('chief', scripted('agent-cleaner', '{"prompt":"Clean up."}'), { agents: { cleaner } })
    : cleaner
console.log((await asked.generate('Clean up.')).text)
