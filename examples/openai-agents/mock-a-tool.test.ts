import { Agent, Runner, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { mock } from 'hookspan/mock'
import { observeAgents } from 'hookspan/openai-agents'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'

const bookFlight = tool({
  name: 'book_flight',
  description: 'Books a flight.',
  parameters: z.object({ to: z.string() }),
  execute: () => Promise.reject(new Error('a real card was charged')),
})

test('books Bergen', async ({ dispatcher, mocks }) => {
  mocks.use(mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }))
  const model = new ScriptedModel([
    [functionCall('book_flight', { to: 'Bergen' }, { callId: 'call_1' })],
    [assistantMessage('You fly to Bergen.')],
  ])
  const agent = new Agent({ name: 'travel', model, tools: [bookFlight] })

  const result = await observeAgents(new Runner(), { dispatcher }).run(agent, 'Book me to Norway')

  expect(result.finalOutput).toBe('You fly to Bergen.')
  expect(mocks.calls('book_flight')).toHaveLength(1)
})
