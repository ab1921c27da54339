import { OpenAIChatCompletionsModel } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import OpenAI from 'openai'
import { afterEach, expect, it } from 'vitest'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, observed } from './support.ts'

afterEach(letAllGo)

const SAID = { id: 'c', created: 1, model: 'llama-3.3-70b' }
const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }

/** A server that says this, and why it stopped. */
function clientOf(content: string, finish_reason: string): OpenAI {
  const piece = (delta: object, why: string | null = null) => ({
    ...{ ...SAID, object: 'chat.completion.chunk' },
    choices: [{ index: 0, delta, finish_reason: why }],
  })
  const last = { ...SAID, object: 'chat.completion.chunk', choices: [], usage }
  const pieces = [piece({ role: 'assistant', content }), piece({}, finish_reason), last]
  const message = { role: 'assistant', content }
  const whole = {
    ...{ ...SAID, object: 'chat.completion', usage },
    choices: [{ index: 0, message, finish_reason }],
  }
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    if (!JSON.parse(String(init?.body)).stream) return Response.json(whole)
    const events = [...pieces.map((one) => JSON.stringify(one)), '[DONE]'].map((data) => `data: ${data}\n\n`)
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
  return new OpenAI({ apiKey: 'k', baseURL: 'https://api.test/v1', maxRetries: 0, fetch: fetch as never })
}

it.each([
  ['stop', false],
  ['stop', true],
  ['length', false],
  ['length', true],
  ['content_filter', false],
  ['content_filter', true],
])(
  'a model of chat completions is told by who answered, and why it stopped (%s, streamed: %s)',
  async (why, stream) => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const model = new OpenAIChatCompletionsModel(clientOf('Bergen', why), 'llama-3.3')
    const runner = observed(bareRunner(), { dispatcher })

    const result = await runner.run(agentOf({ model }), 'hi', { stream: stream as never })
    await (result as { completed?: Promise<void> }).completed

    expect(result.finalOutput).toBe('Bergen')
    expect(findAll(events, 'afterLlmCall')).toMatchObject([
      { response: { model: SAID.model, content: 'Bergen', finishReasons: [why] }, usage: { inputTokens: 9 } },
    ])
  },
)
