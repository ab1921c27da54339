import { HookDispatcher, type HookEvent } from 'hookspan'
import { observeCopilot, unobserveCopilot } from 'hookspan/copilot'
import { type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { configOf, startClient } from './subjects/copilot.ts'
import type { Untyped } from './support/sdks.ts'

let copilot: Awaited<ReturnType<typeof startClient>>
beforeAll(async () => {
  copilot = await startClient()
})
afterAll(() => copilot.stop())

const usage = {
  inputTokens: 100,
  outputTokens: 5,
  cachedInputTokens: 30,
  cacheCreationInputTokens: 20,
  reasoningTokens: 2,
}

/** What is told of one call, and what Copilot says meanwhile. */
async function told(
  provider: object,
  beside?: object,
  steps: readonly ScriptedStep[] = [{ content: 'done', usage }],
  of: (event: HookEvent<'afterLlmCall'>) => unknown = (event) => event.usage,
): Promise<unknown[]> {
  const server = await startScriptedServer({ steps })
  const seen: unknown[] = []
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'counts',
    hooks: [{ id: 'counts', type: 'afterLlmCall', handler: (event) => void seen.push(of(event)) }],
  })
  observeCopilot(copilot.client, { dispatcher })
  const config = configOf(server.baseURL, 'contract', [])
  const session: Untyped = await copilot.client.createSession({
    ...config,
    provider: { ...config.provider, ...provider },
  })
  let others = 0
  session.on('assistant.usage', (event: Untyped) => {
    if (beside === undefined || others++ > 0) return
    session._dispatchEvent({ ...event, id: 'other', data: { ...event.data, apiCallId: 'other', ...beside } })
  })
  try {
    await session.sendAndWait('go on')
    return seen
  } finally {
    await session.disconnect()
    unobserveCopilot(copilot.client)
    await server.close()
  }
}

it.each([['completions'], ['responses']])('counts what was cached, read and written: %s', async (wireApi) => {
  expect(await told({ wireApi })).toEqual([usage])
})

it('takes what a compaction used, told between the usage of a call and its message, for no call', async () => {
  const large = { inputTokens: 90_000, outputTokens: 4_000, cacheReadTokens: 0 }
  expect(await told({}, { ...large, interactionType: 'conversation-compaction' })).toEqual([usage])
  expect(await told({}, { ...large, interactionType: undefined })).toEqual([usage])
})

it('tells a reply that its limit of tokens cut off, which Copilot has gone on with, and both by their ends', async () => {
  const steps = [
    { content: 'cut off he', finishReason: 'length', usage },
    { content: 're, and whole', usage: { inputTokens: 200, outputTokens: 7 } },
  ]
  const of = ({ response, usage: used }: HookEvent<'afterLlmCall'>) => [
    response.content,
    response.finishReasons,
    used?.inputTokens,
    used?.outputTokens,
  ]
  expect(await told({}, undefined, steps, of)).toEqual([
    ['cut off he', ['length'], 100, 5],
    ['re, and whole', ['stop'], 200, 7],
  ])
})
