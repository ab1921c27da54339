import { MemorySession, OpenAIResponsesCompactionSession } from '@openai/agents'
import { deny } from 'hookspan/gates'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { dispatcherWith, gate } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, observed, scripted } from './support.ts'

afterEach(letAllGo)

describe('a reply that a gate gives in the place of a model', () => {
  const { dispatcher } = dispatcherWith(gate('beforeLlmCall', () => deny('not today')))
  const play = async (options: object) => {
    const result = await observed(bareRunner(), { dispatcher }).run(
      agentOf({ model: scripted() }),
      'hi',
      options,
    )
    await (result as { completed?: Promise<void> }).completed
    expect(result.finalOutput).toBe('not today')
    return result
  }

  it.each([
    [false, undefined, undefined],
    [true, undefined, ''],
    [false, 'resp_0', 'resp_0'],
    [true, 'resp_0', 'resp_0'],
  ])('is none that the server knows: streamed %s, after %s', async (stream, previousResponseId, expected) => {
    const { lastResponseId } = await play({ stream, ...(previousResponseId && { previousResponseId }) })
    expect(lastResponseId).toBe(expected)
  })

  it.each([false, true])(
    'has items without ids, of which none may be twice in a conversation (streamed: %s)',
    async (stream) => {
      const session = new MemorySession()
      for (const _time of [1, 2]) await play({ session, stream })
      const items = (await session.getItems()) as { role?: string; id?: string }[]
      expect(items.filter(({ role }) => role === 'assistant')).toHaveLength(2)
      expect(items.filter(({ id }) => id !== undefined)).toEqual([])
    },
  )

  it.each([false, true])('is compacted out of what the session has (streamed: %s)', async (stream) => {
    const bodies: unknown[] = []
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      return Response.json({
        id: 'cmp_1',
        object: 'response.compaction',
        output: [{ type: 'compaction', id: 'c', encrypted_content: 'x' }],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      })
    }
    const session = new OpenAIResponsesCompactionSession({
      client: new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }) as never,
      underlyingSession: new MemorySession(),
      shouldTriggerCompaction: () => true,
    })

    await play({ session, stream })

    expect(bodies).toEqual([expect.not.objectContaining({ previous_response_id: expect.anything() })])
    expect(JSON.stringify(bodies)).toContain('not today')
  })
})
