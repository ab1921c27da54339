import { createHook } from 'node:async_hooks'
import { Agent, Runner, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { observeAgents } from 'hookspan/openai-agents'
import { expect, it } from 'vitest'
import { z } from 'zod'

const TURNS = 10

/** How many promises a run makes: each is a turn of the queue that the SDK alone would not have waited for. */
async function promisesOf(runner: Runner): Promise<number> {
  const model = new ScriptedModel([
    ...Array.from({ length: TURNS - 1 }, (_, turn) => [functionCall('look', {}, { callId: `${turn}` })]),
    [assistantMessage('done')],
  ])
  const look = tool({ name: 'look', description: '', parameters: z.object({}), execute: () => 'seen' })
  const agent = new Agent({ name: 'support', model, tools: [look] })
  let made = 0
  const counting = createHook({
    init(_id, type) {
      if (type === 'PROMISE') made++
    },
  })
  counting.enable()
  try {
    await runner.run(agent, 'hi')
  } finally {
    counting.disable()
  }
  return made
}

it('waits for little where nobody decides', async () => {
  setTracingDisabled(true)
  const bare = await promisesOf(new Runner())
  const observed = await promisesOf(observeAgents(new Runner(), { dispatcher: new HookDispatcher() }))

  // 38 for a model call and a tool; 63 before what is known at once was taken without a wait.
  expect((observed - bare) / TURNS).toBeLessThan(50)
})
