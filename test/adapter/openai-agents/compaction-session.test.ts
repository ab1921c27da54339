import { MemorySession, OpenAIResponsesCompactionSession } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import { observeOpenAI } from 'hookspan/openai'
import { redact } from 'hookspan/policies'
import OpenAI from 'openai'
import { afterEach, expect, it } from 'vitest'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, observed, scripted } from './support.ts'

afterEach(letAllGo)

it('a session that compacts by an observed client is told in its run, counted, and sends what gates made of it', async () => {
  const bodies: string[] = []
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(String(init?.body))
    return Response.json({
      id: 'cmp_1',
      object: 'response.compaction',
      output: [{ type: 'compaction', id: 'c', encrypted_content: 'x' }],
      usage: { input_tokens: 70, output_tokens: 7, total_tokens: 77 },
    })
  }
  const dispatcher = new HookDispatcher({ priceOf: ({ usage }) => usage.inputTokens })
  dispatcher.use({ name: 'careful', gates: [redact()] })
  const events = eventsOf(dispatcher)
  const session = new OpenAIResponsesCompactionSession({
    client: observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher }) as never,
    underlyingSession: new MemorySession(),
    compactionMode: 'input',
    shouldTriggerCompaction: () => true,
  })
  const agent = agentOf({ model: scripted('Sure, ann@shop.test.') })
  await observed(bareRunner(), { dispatcher }).run(agent, 'Write to ann@shop.test.', { session } as never)
  await dispatcher.drain()
  expect(bodies).toEqual([expect.stringMatching(/Write to \[email\].*Sure, \[email\]/)])
  expect(findAll(events, 'afterCompact')).toMatchObject([{ tokensBefore: 70, tokensAfter: 7 }])
  expect(findAll(events, 'onComplete')).toMatchObject([
    {
      agentName: 'support',
      totals: { llmCalls: 2, usage: { inputTokens: 70, outputTokens: 7 }, costUsd: 70 },
    },
  ])
})
