/** Streams and generators that are let go of without `return()`: nobody tells of their end. */
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeMastra } from 'hookspan/mastra'
import { scriptedFetch } from 'hookspan/mock'
import { observeStrands } from 'hookspan/strands'
import OpenAI from 'openai'
import { it } from 'vitest'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { endsOnceDropped } from '../support/dropped.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

it('a run of Strands ends whose generator is dropped midway', async () => {
  const sdk = '@strands-agents/sdk'
  const [{ Agent }, { OpenAIModel }]: Untyped[] = await Promise.all([
    import(sdk),
    import(`${sdk}/models/openai`),
  ])
  await endsOnceDropped(async (dispatcher) => {
    const client = new OpenAI({ apiKey: 'k', fetch: scriptedFetch({ steps: [{ content: 'done' }] }) })
    const model = new OpenAIModel({ api: 'responses', modelId: 'gpt-x', client })
    const agent = observeStrands(new Agent({ name: 'support', model, printer: false }), { dispatcher })
    await agent.stream('hi').next()
  })
})

it('a run of ADK ends whose generator is dropped midway', async () => {
  const sdk = '@google/adk'
  const { InMemoryRunner, LlmAgent }: Untyped = await import(sdk)
  await endsOnceDropped(async (dispatcher) => {
    const agent = new LlmAgent({ name: 'support', model: new ScriptedLlm([{ content: 'done' }]) })
    const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [hookspanPlugin({ dispatcher })] })
    await runner.runEphemeral({ userId: 'u', newMessage: { role: 'user', parts: [{ text: 'hi' }] } }).next()
  })
})

it('a run of Mastra ends whose stream nobody reads', async () => {
  const sdk = '@mastra/core/agent'
  const { Agent }: Untyped = await import(sdk)
  await endsOnceDropped(async (dispatcher) => {
    const model = scripted([{ content: 'done' }])
    const agent = new Agent({ id: 'support', name: 'support', instructions: 'Help.', model })
    await observeMastra(agent, { dispatcher }).stream('hi')
  })
})
