/** What a gate sets of the request of a client arrives at its server, and is told; or the call is refused. */
import Anthropic from '@anthropic-ai/sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { mutate } from 'hookspan/gates'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'

const messages = [{ role: 'user' as const, content: 'hi' }]
const limit = { max_tokens: 9 }

interface Clients {
  readonly openai: OpenAI
  readonly anthropic: Anthropic
}

const WAYS: readonly (readonly [string, streams: boolean, (clients: Clients) => PromiseLike<unknown>])[] = [
  ['chat', false, ({ openai }) => openai.chat.completions.create({ model: 'large', messages })],
  ['chat', true, ({ openai }) => openai.chat.completions.create({ model: 'large', messages, stream: true })],
  ['responses', false, ({ openai }) => openai.responses.create({ model: 'large', input: 'hi' })],
  ['responses', true, ({ openai }) => openai.responses.create({ model: 'large', input: 'hi', stream: true })],
  ['messages', false, ({ anthropic }) => anthropic.messages.create({ model: 'large', messages, ...limit })],
  [
    'messages',
    true,
    ({ anthropic }) => anthropic.messages.create({ model: 'large', messages, ...limit, stream: true }),
  ],
]

function asking(set: object) {
  const { dispatcher, span } = traced()
  dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(set) }] })
  const fetch = scriptedFetch({ steps: [{ content: 'done' }] })
  const openai = observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
  const anthropic = observeAnthropic(new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
  return { openai, anthropic, dispatcher, fetch, span }
}

it.each(WAYS)('%s (streamed: %s): another model is asked, and told', async (_name, _streams, ask) => {
  const { fetch, dispatcher, span, ...clients } = asking({ model: 'small', metadata: { a: 'b' } })
  const reply = await ask(clients)
  if (Symbol.asyncIterator in (reply as object)) {
    for await (const _chunk of reply as AsyncIterable<unknown>);
  }
  await dispatcher.drain()
  expect(fetch.requests[0]?.body).toMatchObject({ model: 'small', metadata: { a: 'b' } })
  expect(span('chat large').attributes).toMatchObject({ 'gen_ai.request.model': 'small' })
})

it.each(WAYS)('%s (streamed: %s): the other way of reply is refused', async (_name, streams, ask) => {
  const { fetch, ...clients } = asking({ stream: !streams })
  await expect(ask(clients)).rejects.toMatchObject({
    code: 'NOT_CAPABLE',
    message: expect.stringContaining('`stream`'),
  })
  expect(fetch.requests).toEqual([])
})

it('vectors in a form that the client does not read are refused', async () => {
  const { fetch, openai } = asking({ encoding_format: 'float' })
  const asked = openai.embeddings.create({ model: 'large', input: 'hi' })
  await expect(asked).rejects.toThrow('`encoding_format`')
  expect(fetch.requests).toEqual([])
})
