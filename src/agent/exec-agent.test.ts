import { type AgentTool, execAgent } from 'hookspan/agent'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { type ScriptedStep, scriptedFetch } from '../mock/scripted-server/index.ts'

const usage = { inputTokens: 100, outputTokens: 10 }

function scripted(...steps: ScriptedStep[]) {
  const fetch = scriptedFetch({ steps })
  return { fetch, client: new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }) }
}

const search: AgentTool = {
  name: 'search',
  description: 'Searches.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  execute: ({ city }) => ({ city, tempC: 7 }),
}

describe.each([
  { api: 'chat', stream: false },
  { api: 'chat', stream: true },
  { api: 'responses', stream: false },
  { api: 'responses', stream: true },
] as const)('execAgent over $api, stream $stream', (mode) => {
  it('runs parallel tools at once and tells their results in call order', async () => {
    const { client, fetch } = scripted(
      {
        toolCalls: [
          { id: 'a', name: 'slow', arguments: {} },
          { id: 'b', name: 'search', arguments: { city: 'Berlin' } },
        ],
        usage,
      },
      { content: 'It is 7 degrees.', usage },
    )
    const order: string[] = []
    const tools: AgentTool[] = [
      {
        name: 'slow',
        execute: async () => {
          await new Promise((resolve) => setTimeout(resolve, 20))
          order.push('slow')
          return 'slow result'
        },
      },
      { ...search, execute: (args, context) => (order.push('search'), search.execute(args, context)) },
    ]
    const run = await execAgent({
      agent: { name: 'weather', instructions: 'Be brief.', model: 'gpt-4o', tools, ...mode },
      prompt: 'How is Berlin?',
      client,
    })
    fetch.assertDone()
    expect(run).toMatchObject({
      status: 'done',
      reason: 'done',
      content: 'It is 7 degrees.',
      usage: { inputTokens: 200, outputTokens: 20 },
      costUsd: expect.closeTo(200 * 2.5e-6 + 20 * 1e-5, 10),
      steps: 2,
    })
    expect(order).toEqual(['search', 'slow'])
    const told = fetch.requests[1]?.messages.filter(
      (m) => JSON.stringify(m).includes('result') || JSON.stringify(m).includes('tempC'),
    )
    expect(told).toHaveLength(2)
    expect(JSON.stringify(told)).toMatch(/slow result.*tempC/)
  })
})
