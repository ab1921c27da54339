import { HookDispatcher } from 'hookspan'
import { deny, skip } from 'hookspan/gates'
import { observeMastra } from 'hookspan/mastra'
import { expect, it } from 'vitest'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { gate } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const AGENTS = '@mastra/core/agent'
const { Agent }: Untyped = await import(AGENTS)

it.each([
  ['generate', deny('no')],
  ['stream', deny('no')],
  ['generate', skip({ content: 'no' })],
  ['stream', skip({ content: 'no' })],
])('what stands in for a reply has no tokens, and text in no sum: %s()', async (method, decision) => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [gate('beforeLlmCall', () => decision)] })
  const model = scripted([{ content: 'yes' }])
  const agent = observeMastra<Untyped>(new Agent({ id: 's', name: 's', instructions: '', model }), {
    dispatcher,
  })
  const result = await agent[method]('hi')
  expect(await result.text).toBe('no')
  for (const usage of [await result.usage, await result.totalUsage]) {
    const { inputTokens = 0, outputTokens = 0, totalTokens = 0 } = usage
    expect([inputTokens, outputTokens, totalTokens]).toEqual([0, 0, 0])
  }
})
