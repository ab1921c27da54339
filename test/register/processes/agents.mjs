import { Agent, run, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { z } from 'zod'

setTracingDisabled(true)
const model = new ScriptedModel([
  [functionCall('wipe', { what: 'all' }, { callId: 'call_1' })],
  [assistantMessage('done')],
])
const wipe = tool({
  name: 'wipe',
  description: '',
  parameters: z.object({ what: z.string() }),
  execute: ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
})
const result = await run(new Agent({ name: 'janitor', model, tools: [wipe] }), 'Clean up.')
console.log(result.finalOutput)
