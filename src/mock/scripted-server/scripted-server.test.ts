import { once } from 'node:events'
import { request } from 'node:http'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type ScriptedServer,
  type ScriptedStep,
  type ScriptOptions,
  type ScriptReport,
  scriptedFetch,
  startScriptedServer,
} from './index.ts'

const model = 'gpt-4o'
const messages = [{ role: 'user' as const, content: 'hi' }]
const ask = { model, messages }
const twoCalls: ScriptedStep = {
  toolCalls: [
    { id: 'a', name: 'search', arguments: { city: 'Berlin', days: [1, 2, 3] } },
    { id: 'b', name: 'note', arguments: '{"text" : "as  is"}' },
  ],
}
const TEXT = 'Grüße 👋🏽 from\n\n "Berlin",  two  spaces\tand a tab. '

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

const servers: ScriptedServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

const transports = {
  'over HTTP': async (options: ScriptOptions) => {
    const server = await startScriptedServer(options)
    servers.push(server)
    return { report: server, client: new OpenAI({ apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 }) }
  },
  'in process': async (options: ScriptOptions) => {
    const fetch = scriptedFetch(options)
    return { report: fetch, client: new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }) }
  },
} satisfies Record<string, (options: ScriptOptions) => Promise<{ report: ScriptReport; client: OpenAI }>>

describe.each(Object.entries(transports))('the scripted model %s', (_, start) => {
  const script = (...steps: ScriptedStep[]) => start({ steps })

  it('answers chat completions with text, calls, usage and finish reason', async () => {
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 64, reasoningTokens: 7 }
    const { client, report } = await script({ content: TEXT, ...twoCalls, usage, model: 'gpt-4o-2024-08-06' })

    const answer = await client.chat.completions.create(ask)

    const [choice] = answer.choices
    expect(answer.model).toBe('gpt-4o-2024-08-06')
    expect(choice?.message.content).toBe(TEXT)
    expect(choice?.finish_reason).toBe('tool_calls')
    expect(choice?.message.tool_calls).toEqual([
      {
        id: 'a',
        type: 'function',
        function: { name: 'search', arguments: '{"city":"Berlin","days":[1,2,3]}' },
      },
      { id: 'b', type: 'function', function: { name: 'note', arguments: '{"text" : "as  is"}' } },
    ])
    expect(answer.usage).toEqual({
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 64 },
      completion_tokens_details: { reasoning_tokens: 7 },
    })
    report.assertDone()
  })

  it('gives a recorded reply to who asks for several choices, and refuses a written one', async () => {
    const choice = (index: number, content: string) => ({
      index,
      message: { role: 'assistant', content, refusal: null },
      finish_reason: 'stop',
      logprobs: null,
    })
    const recorded = {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [choice(0, 'a'), choice(1, 'b')],
    }
    const { client, report } = await script(
      { raw: { body: JSON.stringify(recorded) } },
      { error: { status: 400, message: 'too many' } },
      { content: 'a' },
    )

    expect(await client.chat.completions.create({ ...ask, n: 2 })).toEqual(recorded)
    await expect(client.chat.completions.create({ ...ask, n: 2 })).rejects.toThrow(/too many/)
    expect(report.unexpected).toEqual([])
    await expect(client.chat.completions.create({ ...ask, n: 2 })).rejects.toThrow(
      /2 choices \(`n`\).*as `raw`/,
    )
    expect(report.unexpected).toHaveLength(1)
  })

  it('gives a recorded stream the status that it came with', async () => {
    const body = 'event: error\ndata: {"error":{"message":"overloaded"}}\n\n'
    const { client } = await script({ raw: { body, status: 529, contentType: 'text/event-stream' } })

    await expect(client.chat.completions.create({ ...ask, stream: true })).rejects.toMatchObject({
      status: 529,
    })
  })

  it('tells no text from empty text and reports no usage unless told', async () => {
    const { client } = await script({}, { content: '' }, { content: '', finishReason: 'length' })

    const [none, empty, cut] = [
      await client.chat.completions.create(ask),
      await client.chat.completions.create(ask),
      await client.chat.completions.create(ask),
    ]
    expect(none.choices[0]?.message.content).toBeNull()
    expect(none.usage).toBeUndefined()
    expect(empty.choices[0]?.message.content).toBe('')
    expect(cut.choices[0]?.finish_reason).toBe('length')
  })

  it('streams text in pieces that join to it, and usage only when asked', async () => {
    const usage = { inputTokens: 3, outputTokens: 4, cachedInputTokens: 2, reasoningTokens: 1 }
    const { client } = await script({ content: TEXT, usage }, { content: TEXT, usage })

    const plain = await all(await client.chat.completions.create({ ...ask, stream: true }))
    const counted = await all(
      await client.chat.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } }),
    )

    const deltas = plain.map((chunk) => chunk.choices[0]?.delta.content ?? '')
    expect(deltas.join('')).toBe(TEXT)
    expect(deltas.filter(Boolean).length).toBeGreaterThan(5)
    expect(plain.some((chunk) => chunk.usage)).toBe(false)
    expect(counted.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true)
    expect(counted.at(-1)).toMatchObject({
      choices: [],
      usage: {
        total_tokens: 7,
        prompt_tokens_details: { cached_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    })
  })

  it.each(['sequential', 'interleaved'] as const)('streams parallel calls, %s', async (toolCallOrder) => {
    const { client } = await script({ ...twoCalls, toolCallOrder })

    const chunks = await all(await client.chat.completions.create({ ...ask, stream: true }))

    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
    const text = (index: number) =>
      deltas
        .filter((delta) => delta.index === index)
        .map((delta) => delta.function?.arguments ?? '')
        .join('')
    expect(text(0)).toBe('{"city":"Berlin","days":[1,2,3]}')
    expect(text(1)).toBe('{"text" : "as  is"}')
    expect(deltas.filter((delta) => delta.id).map((delta) => [delta.index, delta.id])).toEqual([
      [0, 'a'],
      [1, 'b'],
    ])
    const turns = deltas.filter((delta, place) => delta.index !== deltas[place - 1]?.index)
    if (toolCallOrder === 'sequential') expect(turns).toHaveLength(2)
    else expect(turns.length).toBeGreaterThan(4)
  })

  it('serves the `stream` helper', async () => {
    const { client } = await script({
      content: TEXT,
      ...twoCalls,
      usage: { inputTokens: 1, outputTokens: 2 },
    })

    const stream = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
    const final = await stream.finalChatCompletion()

    expect(final.choices[0]?.message.content).toBe(TEXT)
    expect(final.choices[0]?.message.tool_calls?.map((call) => call.id)).toEqual(['a', 'b'])
    expect(final.usage?.total_tokens).toBe(3)
  })

  it('serves `parse` of both interfaces', async () => {
    const { client } = await script({ content: '{"tempC":7}' }, { content: '{"tempC":8}' })
    const schema = { type: 'object', properties: { tempC: { type: 'number' } }, required: ['tempC'] }
    const format = { name: 'weather', strict: true, schema: { ...schema, additionalProperties: false } }

    const chat = await client.chat.completions.parse({
      ...ask,
      response_format: { type: 'json_schema', json_schema: format },
    })
    const response = await client.responses.parse({
      model,
      input: 'hi',
      text: { format: { type: 'json_schema', ...format } },
    })

    expect(chat.choices[0]?.message.parsed).toEqual({ tempC: 7 })
    expect(response.output_parsed).toEqual({ tempC: 8 })
  })

  it('answers the responses API with reasoning, text, calls and usage', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 3 }
    const { client } = await script({ reasoning: 'Let me think.', content: TEXT, ...twoCalls, usage })

    const response = await client.responses.create({ model, input: 'hi' })

    expect(response.status).toBe('completed')
    expect(response.output_text).toBe(TEXT)
    expect(response.output.map((item) => item.type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ])
    expect(response.output.at(-1)).toMatchObject({
      call_id: 'b',
      name: 'note',
      arguments: '{"text" : "as  is"}',
    })
    expect(response.usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 15,
    })
  })

  it.each(['sequential', 'interleaved'] as const)(
    'streams the responses API, calls %s',
    async (toolCallOrder) => {
      const step = { reasoning: 'Let me think.', content: TEXT, ...twoCalls, toolCallOrder }
      const { client } = await script(step, step, step)

      const events = await all(await client.responses.create({ model, input: 'hi', stream: true }))
      const plain = await client.responses.create({ model, input: 'hi' })
      const helped = await client.responses.stream({ model, input: 'hi' }).finalResponse()

      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, index) => index))
      const joined = (type: string) => {
        const deltas = events.filter((event) => event.type === type) as unknown as { delta: string }[]
        return deltas.map((event) => event.delta).join('')
      }
      expect(joined('response.output_text.delta')).toBe(TEXT)
      expect(joined('response.reasoning_summary_text.delta')).toBe('Let me think.')
      const last = events.at(-1)
      if (last?.type !== 'response.completed') throw new Error(`The last event is ${last?.type}`)
      expect(last.response.output.map(withoutId)).toEqual(plain.output.map(withoutId))
      expect(helped.output_text).toBe(TEXT)
      expect(
        helped.output.filter((item) => item.type === 'function_call').map((item) => item.arguments),
      ).toEqual(plain.output.filter((item) => item.type === 'function_call').map((item) => item.arguments))
    },
  )

  it('says in the responses API that an answer ran into its length', async () => {
    const step = { content: 'half', finishReason: 'length' }
    const { client } = await script(step, step)

    const plain = await client.responses.create({ model, input: 'hi' })
    const events = await all(await client.responses.create({ model, input: 'hi', stream: true }))

    expect(plain).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    expect(events.at(-1)?.type).toBe('response.incomplete')
  })

  it.each([
    [400, OpenAI.BadRequestError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
  ])('answers error %i', async (status, type) => {
    const error = { status, message: 'not now', code: 'why', retryAfterMs: 1_500 }
    const { client, report } = await script({ error }, { error })

    for (const stream of [false, true]) {
      const failure = await client.chat.completions.create({ ...ask, stream }).catch((thrown) => thrown)
      expect(failure).toBeInstanceOf(type)
      expect(failure).toMatchObject({ status, code: 'why', message: `${status} not now` })
      expect(failure.headers.get('retry-after')).toBe('2')
      expect(failure.headers.get('retry-after-ms')).toBe('1500')
      expect(failure.requestID).toMatch(/^req_scripted_\d$/)
    }
    report.assertDone()
  })

  it('lets the client retry after the time it was told', async () => {
    const { client, report } = await script(
      { error: { status: 429, message: 'wait', retryAfterMs: 60 } },
      { content: 'ok' },
    )
    const start = performance.now()

    const answer = await client.chat.completions.create(ask, { maxRetries: 1 })

    expect(answer.choices[0]?.message.content).toBe('ok')
    expect(performance.now() - start).toBeGreaterThanOrEqual(59)
    expect(report.requests.map((request) => request.headers['x-stainless-retry-count'])).toEqual(['0', '1'])
  })

  it('cuts a stream after the chunks that it was told to send', async () => {
    const { client } = await script({ content: TEXT, cutAfterChunks: 3 })
    const chunks: unknown[] = []

    const reading = (async () => {
      for await (const chunk of await client.chat.completions.create({ ...ask, stream: true }))
        chunks.push(chunk)
    })()

    await expect(reading).rejects.toThrow('terminated')
    expect(chunks).toHaveLength(3)
  })

  it('cuts streams of the responses API, before the first event too, and bodies that are not streamed', async () => {
    const { client } = await script(
      { content: TEXT, cutAfterChunks: 4 },
      { content: TEXT, cutAfterChunks: 0 },
      { content: TEXT, cutAfterChunks: 0 },
    )
    const streamed = async () => all(await client.responses.create({ model, input: 'hi', stream: true }))

    await expect(streamed()).rejects.toThrow('terminated')
    await expect(streamed()).rejects.toThrow('terminated')
    await expect(client.chat.completions.create(ask)).rejects.toThrow()
  })

  it('keeps its latency and lets the caller abort while it waits', async () => {
    const { client, report } = await start({
      steps: [{ content: 'a' }, { latencyMs: 10_000 }],
      latencyMs: 50,
    })
    const begin = performance.now()
    await client.chat.completions.create(ask)
    expect(performance.now() - begin).toBeGreaterThanOrEqual(49)

    const abort = new AbortController()
    const waiting = client.chat.completions.create(ask, { signal: abort.signal })
    await vi.waitUntil(() => report.requests.length === 2, { timeout: 20_000, interval: 5 })
    abort.abort()

    await expect(waiting).rejects.toThrow(OpenAI.APIUserAbortError)
    report.assertDone()
  })

  it('stops a slow stream that its reader leaves', async () => {
    const { client, report } = await script({ content: TEXT, chunkDelayMs: 5_000 }, { content: 'next' })

    const abort = new AbortController()
    const stream = await client.chat.completions.create({ ...ask, stream: true }, { signal: abort.signal })
    for await (const chunk of stream) {
      expect(chunk.choices).toHaveLength(1)
      break
    }
    abort.abort()

    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe('next')
    report.assertDone()
  })

  it('refuses a request past the last step, once, and says which one it was', async () => {
    const { client, report } = await script({ content: 'only' })
    await client.chat.completions.create(ask)

    const failure = await client.chat.completions.create(ask, { maxRetries: 2 }).catch((thrown) => thrown)

    expect(failure.message).toContain('Unexpected request 1 (POST /v1/chat/completions for model "gpt-4o"')
    expect(failure.message).toContain('all 1 steps are used')
    expect(report.requests).toHaveLength(2)
    expect(report.unexpected).toHaveLength(1)
    expect(() => report.assertDone()).toThrow(/not followed:\n- Unexpected request 1 .*"hi"/)
  })

  it('fails on a step that nobody asked for', async () => {
    const { client, report } = await script({ content: 'used' }, { content: 'left over' })
    await client.chat.completions.create(ask)

    expect(report.remaining).toBe(1)
    expect(() => report.assertDone()).toThrow('steps[1] was never asked for: {"content":"left over"}')
    expect(() => report.assertDone()).toThrow(
      expect.objectContaining({ name: 'ScriptError', code: 'SCRIPT_NOT_FOLLOWED' }),
    )
  })

  it('refuses what no step can answer', async () => {
    const { client, report } = await script({ content: 'unused' })

    await expect(client.embeddings.create({ model, input: 'x' })).rejects.toThrow(
      'only `POST /v1/chat/completions`',
    )
    await expect(client.chat.completions.create({ ...ask, n: 2 })).rejects.toThrow('asks for 2 choices')
    expect(report.remaining).toBe(1)
  })

  it('refuses a cut that would cut nothing', async () => {
    const { client, report } = await script({ content: 'short', cutAfterChunks: 99 })

    await expect(client.chat.completions.create({ ...ask, stream: true })).rejects.toThrow(
      '`cutAfterChunks` is 99, but the answer to request 0 has only 4 events',
    )
    expect(() => report.assertDone()).toThrow('cutAfterChunks')
  })

  it('picks answers by the request, for several conversations at once', async () => {
    const { client, report } = await start({
      respond: async (request, { answered }) => {
        const [first] = request.messages as { content: string }[]
        return first?.content.startsWith('talk')
          ? { content: `${first.content}/${answered >= 0}`, latencyMs: 5 }
          : undefined
      },
    })
    const say = (content: string) =>
      client.chat.completions.create({ model, messages: [{ role: 'user', content }] })

    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => say(`talk ${index}`)))

    expect(answers.map((answer) => answer.choices[0]?.message.content)).toEqual(
      Array.from({ length: 20 }, (_, index) => `talk ${index}/true`),
    )
    report.assertDone()
    await expect(say('noise')).rejects.toThrow('`respond` returned undefined')
  })

  it('refuses what `respond` throws or misspells, with its words', async () => {
    const { client, report } = await start({
      respond: ({ index }) => {
        if (index === 0) throw new Error('expected a tool result first')
        return { contnet: 'x' } as ScriptedStep
      },
    })

    await expect(client.chat.completions.create(ask)).rejects.toThrow('expected a tool result first')
    await expect(client.chat.completions.create(ask)).rejects.toThrow('Unknown key `contnet`')
    expect(report.unexpected).toHaveLength(2)
  })

  it('remembers what it received', async () => {
    const { client, report } = await script({ content: 'a' }, { content: 'b' })
    await client.chat.completions.create(ask, { headers: { Traceparent: '00-abc' } })
    await client.responses.create({ model, input: 'hello' })

    expect(report.requests).toMatchObject([
      { index: 0, api: 'chat', stream: false, body: ask, messages, headers: { traceparent: '00-abc' } },
      { index: 1, api: 'responses', messages: [{ role: 'user', content: 'hello' }] },
    ])
    expect(JSON.parse(report.requests[0]!.bodyText)).toEqual(ask)
  })

  it('keeps nothing when told not to', async () => {
    const { client, report } = await start({ respond: () => ({ content: 'x' }), recordRequests: false })
    await client.chat.completions.create(ask)
    expect(report.requests).toEqual([])
  })
})

it('answers to loopback names only and leaves the step unused for others', async () => {
  const server = await startScriptedServer({ steps: [{ content: 'x' }] })
  servers.push(server)
  const outgoing = request({
    ...{ host: '127.0.0.1', port: server.port, method: 'POST', path: '/v1/chat/completions' },
    headers: { host: `attacker.example:${server.port}` },
  })
  outgoing.end(JSON.stringify(ask))
  const [incoming] = await once(outgoing, 'response')

  expect(incoming.statusCode).toBe(403)
  expect(server.remaining).toBe(1)
})

it('never closes a connection that waits: its client may have been held at a breakpoint', async () => {
  await using server = await startScriptedServer({ steps: [{}] })
  const reply = await fetch(`${server.baseURL}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(ask),
  })
  // Node tells a client here after how many seconds it closes.
  expect(reply.headers.get('keep-alive')).toBeNull()
  expect(reply.headers.get('connection')).toBe('keep-alive')
  await reply.text()
})

it('frees its port when it is closed, also under a client that waits', async () => {
  const server = await startScriptedServer({ steps: [{ latencyMs: 60_000 }] })
  const client = new OpenAI({ apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
  const waiting = client.chat.completions.create(ask)
  const refused = expect(waiting).rejects.toThrow(OpenAI.APIConnectionError)
  await expect.poll(() => server.requests.length).toBe(1)

  await server.close()
  await server.close()

  await refused
  await expect(fetch(server.baseURL)).rejects.toThrow()
})

describe('the endpoints of other providers', () => {
  const step: ScriptedStep = {
    reasoning: 'Hm.',
    content: TEXT,
    toolCalls: [{ id: 'a', name: 'search', arguments: { city: 'Berlin' } }],
    usage: { inputTokens: 20, outputTokens: 9, cachedInputTokens: 3, reasoningTokens: 2 },
  }

  async function answers(path: string, body: object, steps: ScriptedStep[]) {
    const server = await startScriptedServer({ steps })
    servers.push(server)
    const url = new URL(path, server.baseURL)
    const replies = []
    for (const _step of steps) {
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
      replies.push({ status: response.status, text: await response.text() })
    }
    server.assertDone()
    return { replies, requests: server.requests }
  }
  const eventsOf = (text: string | undefined) =>
    (text ?? '')
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)))

  it("answers Anthropic's messages, streamed or not, and fails as it does", async () => {
    const ask = { model: 'claude', max_tokens: 10, messages }
    const { replies, requests } = await answers('/v1/messages', ask, [
      step,
      { error: { status: 429, message: 'slow' } },
    ])
    expect(requests[0]).toMatchObject({ api: 'messages', stream: false, messages })
    expect(JSON.parse(replies[0]?.text ?? '')).toEqual({
      id: 'msg_scripted_0',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: '' },
        { type: 'text', text: TEXT },
        { type: 'tool_use', id: 'a', name: 'search', input: { city: 'Berlin' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 17,
        output_tokens: 9,
        cache_read_input_tokens: 3,
        output_tokens_details: { thinking_tokens: 2 },
      },
    })
    expect(replies[1]).toEqual({
      status: 429,
      text: '{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}',
    })

    const streamed = await answers('/v1/messages', { ...ask, stream: true }, [step])
    const events = eventsOf(streamed.replies[0]?.text)
    expect(streamed.replies[0]?.text).toMatch(/^event: message_start\ndata: /)
    expect(events.map(({ type }) => type).filter((type) => type !== 'content_block_delta')).toEqual([
      'message_start',
      ...Array(3).fill(['content_block_start', 'content_block_stop']).flat(),
      ...['message_delta', 'message_stop'],
    ])
    expect(events.map(({ delta }) => delta?.text ?? '').join('')).toBe(TEXT)
    expect(events.map(({ delta }) => delta?.partial_json ?? '').join('')).toBe('{"city":"Berlin"}')
  })

  it("answers Google's generate-content, streamed or not, and fails as it does", async () => {
    const ask = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
    const path = '/v1beta/models/gemini-x:'
    const { replies, requests } = await answers(`${path}generateContent`, ask, [
      step,
      { error: { status: 429, message: 'slow' } },
    ])
    expect(requests[0]).toMatchObject({ api: 'generateContent', stream: false, messages: ask.contents })
    const parts = [
      { text: 'Hm.', thought: true },
      { text: TEXT },
      { functionCall: { id: 'a', name: 'search', args: { city: 'Berlin' } } },
    ]
    const usageMetadata = {
      promptTokenCount: 20,
      candidatesTokenCount: 7,
      cachedContentTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 29,
    }
    expect(JSON.parse(replies[0]?.text ?? '')).toEqual({
      responseId: 'resp_scripted_0',
      modelVersion: 'gemini-x',
      candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata,
    })
    expect(JSON.parse(replies[1]?.text ?? '')).toEqual({
      error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED' },
    })

    const streamed = await answers(`${path}streamGenerateContent?alt=sse`, ask, [step])
    expect(streamed.requests[0]?.stream).toBe(true)
    const chunks = eventsOf(streamed.replies[0]?.text)
    const texts = chunks.flatMap(({ candidates }) => candidates[0].content.parts)
    expect(texts.map(({ text = '', thought }) => (thought ? '' : text)).join('')).toBe(TEXT)
    expect(chunks.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }], usageMetadata })
  })
})

describe('a wrong script', () => {
  it.each<[string, unknown]>([
    ['Expected either `steps` or `respond`, got neither', {}],
    ['got both', { steps: [], respond: () => undefined }],
    ['Expected `respond` of the options of a script to be a function, got `3` (number)', { respond: 3 }],
    [
      'Expected `latencyMs` of the options of a script to be a finite number >= 0, got `NaN` (number)',
      { steps: [], latencyMs: Number.NaN },
    ],
    ['Unknown key `toolcalls` in steps[0]', { steps: [{ toolcalls: [] }] }],
    [
      'Expected `content` of steps[1] to be a string or null, got `{"a":1}` (object)',
      { steps: [{}, { content: { a: 1 } }] },
    ],
    [
      'Expected `name` of steps[0].toolCalls[0] to be a non-empty string, got `""` (string)',
      { steps: [{ toolCalls: [{ name: '' }] }] },
    ],
    [
      'Expected `status` of steps[0].error to be from 400 to 599, got `200`',
      { steps: [{ error: { status: 200, message: '' } }] },
    ],
    ['Unknown key `tokens` in steps[0].usage', { steps: [{ usage: { tokens: 1 } }] }],
    ['`cutAfterChunks` of steps[0]', { steps: [{ cutAfterChunks: -1 }] }],
  ])('fails where it is written: %s', async (message, options) => {
    expect(() => scriptedFetch(options as ScriptOptions)).toThrow(message)
    await expect(startScriptedServer(options as ScriptOptions)).rejects.toThrow(message)
  })
})

function withoutId({ id: _id, ...item }: { id?: string | null }): object {
  return item
}
