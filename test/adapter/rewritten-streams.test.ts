import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher, type LlmResponse } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { type Gate, mutate } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { observeOpenAI } from 'hookspan/openai'
import { redact } from 'hookspan/policies'
import OpenAI from 'openai'
import { expect, it } from 'vitest'

// A stream that a gate changed says all that it said beside the text, in the events in which clients look for it.

function redacting() {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'privacy', gates: [redact({ kinds: ['email'] })] })
  return dispatcher
}

const answering = (events: readonly object[]) => async () =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

const named = (events: readonly { type: string; [field: string]: unknown }[]) => async () =>
  new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const chunks: T[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

it("is put together by Claude's own helper as the one that came", async () => {
  const cited = { type: 'char_location', cited_text: 'x', document_index: 0 }
  const end = {
    stop_reason: 'refusal',
    stop_sequence: null,
    stop_details: { type: 'refusal', category: 'cyber', explanation: null },
    container: { id: 'container_1', expires_at: '2027-01-01T00:00:00Z', skills: null },
  }
  const edits = { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1 }] }
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', content: [] }
  const delta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta })
  const events = [
    { type: 'message_start', message: { ...head, usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
    delta(0, { type: 'compaction_delta', content: 'So far.', encrypted_content: 'gAAA' }),
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '', citations: [] } },
    delta(1, { type: 'citations_delta', citation: cited }),
    delta(1, { type: 'text_delta', text: 'Said.' }),
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    delta(2, { type: 'text_delta', text: 'Of ann@shop.test.' }),
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: end, usage: { output_tokens: 4 }, context_management: edits },
    { type: 'message_stop' },
  ]
  const bare = new Anthropic({ apiKey: 'k', fetch: named(events) as never, maxRetries: 0 })
  const stream = observeAnthropic(bare, { dispatcher: redacting() }).beta.messages.stream({
    model: 'claude-opus-5',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Whose is order 7?' }],
  })
  const told: unknown[] = []
  stream.on('citation', (citation) => told.push(citation))
  stream.on('compaction', (content) => told.push(content))

  expect(await stream.finalMessage()).toMatchObject({
    ...end,
    context_management: edits,
    content: [
      { type: 'compaction', content: 'So far.', encrypted_content: 'gAAA' },
      { type: 'text', text: 'Said.', citations: [cited] },
      { type: 'text', text: 'Of [email].' },
    ],
  })
  expect(told).toEqual(['So far.', cited])
})

it('keeps what Gemini says of its answer, and each signature at its own part', async () => {
  const about = {
    groundingMetadata: { groundingChunks: [{ web: { uri: 'https://example.com' } }] },
    urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://example.com' }] },
    safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }],
  }
  const signed = { text: 'Two orders.', thoughtSignature: 'Cs0=' }
  const chunk = (part: object, more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...more }],
  })
  const fetch = answering([
    chunk(signed),
    chunk({ text: 'Of ann@shop.test.' }, { finishReason: 'STOP', ...about }),
  ])
  const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
  const client = observeGoogleGenAI(google, { dispatcher: redacting() })
  const chunks = await all(
    await client.models.generateContentStream({ model: 'gemini-3.8-flash', contents: 'Whose is order 7?' }),
  )

  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  expect(parts[0]).toEqual(signed)
  expect(parts.slice(1).some((part) => 'thoughtSignature' in part)).toBe(false)
  expect(parts.map(({ text }) => text).join('')).toBe('Two orders.Of [email].')
  expect(chunks.at(-1)?.candidates?.[0]).toMatchObject({ ...about, finishReason: 'STOP' })
})

it('keeps the arguments of a call and the annotations of a text of an interaction', async () => {
  const annotations = [{ type: 'url_citation', url: 'https://example.com', start_index: 0, end_index: 5 }]
  const of = (index: number, delta: object) => ({ event_type: 'step.delta', index, delta })
  const interaction = { id: 'v1_1', object: 'interaction', model: 'gemini-3.8-flash', status: 'in_progress' }
  const fetch = answering([
    { event_type: 'interaction.created', interaction },
    { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
    of(0, { type: 'text', text: 'Of ann@shop.test. ' }),
    { event_type: 'step.stop', index: 0 },
    { event_type: 'step.start', index: 1, step: { type: 'model_output' } },
    of(1, { type: 'text', text: 'Cited.' }),
    of(1, { type: 'text_annotation_delta', annotations }),
    { event_type: 'step.stop', index: 1 },
    {
      event_type: 'step.start',
      index: 2,
      step: { type: 'function_call', id: 'c', name: 'find', arguments: {} },
    },
    of(2, { type: 'arguments_delta', arguments: '{"id": 7}' }),
    { event_type: 'step.stop', index: 2 },
    { event_type: 'interaction.completed', interaction: { ...interaction, status: 'requires_action' } },
  ])
  const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
  const client = observeGoogleGenAI(google, { dispatcher: redacting() })
  const asked = { model: 'gemini-3.8-flash', input: 'Whose is order 7?', stream: true as const }
  const events = (await all(await client.interactions.create(asked))) as {
    index?: number
    delta?: { type: string; arguments?: string; annotations?: unknown }
  }[]

  const deltas = events.flatMap(({ delta }) => delta ?? [])
  expect(deltas.map((delta) => delta.arguments ?? '').join('')).toBe('{"id": 7}')
  expect(deltas.filter(({ type }) => type === 'text_annotation_delta')).toEqual([
    { type: 'text_annotation_delta', annotations },
  ])
})

it('brings the items of a response in the order in which they came', async () => {
  const call = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'find', arguments: '{"id": 7}' }
  const message = {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
    content: [{ type: 'output_text', text: 'Of ann@shop.test.', annotations: [] }],
  }
  const response = { id: 'resp_1', object: 'response', model: 'gpt-6', status: 'completed' }
  const fetch = named([
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.completed', response: { ...response, output: [call, message] } },
  ])
  const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch: fetch as never, maxRetries: 0 }), {
    dispatcher: redacting(),
  })
  const events = await all(await client.responses.create({ model: 'gpt-6', input: 'Whose?', stream: true }))
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
  expect(done).toMatchObject([{ id: 'fc_1' }, { id: 'msg_1' }])
})

it('keeps the calls of custom tools and the log probabilities of chat completions', async () => {
  const head = { id: 'c1', object: 'chat.completion.chunk', model: 'gpt-6', created: 1 }
  const logprobs = { content: [{ token: 'So', logprob: -1, bytes: null, top_logprobs: [] }], refusal: null }
  const chunk = (delta: object, more: object = {}) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: null, logprobs: null, ...more }],
  })
  const sql = { index: 0, id: 'call_1', type: 'custom', custom: { name: 'sql', input: '' } }
  const find = { index: 1, id: 'call_2', type: 'function', function: { name: 'find', arguments: '{"id":7}' } }
  const fetch = answering([
    chunk({ role: 'assistant', content: 'So' }, { logprobs }),
    chunk({ tool_calls: [sql] }),
    chunk({ tool_calls: [{ index: 0, custom: { input: 'select ' } }] }),
    chunk({ tool_calls: [{ index: 0, custom: { input: '1' } }] }),
    chunk({ tool_calls: [find] }),
    chunk({}, { finish_reason: 'tool_calls' }),
  ])
  const dispatcher = new HookDispatcher()
  const told: unknown[] = []
  const eight: Gate = {
    id: 'eight',
    point: 'afterLlmCall',
    decide: ({ payload }) => {
      const { toolCalls = [], ...said } = payload as LlmResponse
      told.push(...toolCalls)
      return mutate({ ...said, toolCalls: [toolCalls[0], { ...toolCalls[1], args: { id: 8 } }] })
    },
  }
  dispatcher.use({ name: 'guard', gates: [eight] })
  const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch: fetch as never, maxRetries: 0 }), {
    dispatcher,
  })
  const messages = [{ role: 'user' as const, content: 'Whose?' }]
  const chunks = await all(await client.chat.completions.create({ model: 'gpt-6', messages, stream: true }))

  expect(told[0]).toEqual({ toolCallId: 'call_1', apiName: 'sql', args: 'select 1' })
  const choices = chunks.flatMap((one) => one.choices)
  expect(choices.flatMap((choice) => choice.logprobs ?? [])).toEqual([logprobs])
  const calls = choices.flatMap(({ delta }) => (delta.tool_calls ?? []) as unknown as (typeof sql)[])
  const first = calls.filter(({ index }) => index === 0)
  expect(first[0]).toMatchObject({ type: 'custom', custom: { name: 'sql' } })
  expect(first[0]).not.toHaveProperty('function')
  expect(first.map(({ custom }) => custom.input).join('')).toBe('select 1')
  expect(JSON.stringify(calls)).toContain('find')
})
