// A run whose tool is at work when a signal comes. `finishes`: the program hears SIGTERM, and lets the run come to its end.
import { setTimeout } from 'node:timers/promises'
import { Agent, run, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { z } from 'zod'

setTracingDisabled(true)
const stopped = Promise.withResolvers()
if (process.argv[2] === 'finishes') process.on('SIGTERM', stopped.resolve)
const work = tool({
  name: 'work',
  description: '',
  parameters: z.object({}),
  execute: async () => {
    console.log('at work')
    await Promise.race([stopped.promise, setTimeout(60_000)])
    return 'worked'
  },
})
const model = new ScriptedModel([
  [functionCall('work', {}, { callId: 'call_1' })],
  [assistantMessage('done')],
])
const { finalOutput } = await run(new Agent({ name: 'worker', model, tools: [work] }), 'Work.')
console.log(finalOutput)
process.exit(4)
