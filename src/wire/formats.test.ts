import type { MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LlmResponse, TokenUsage } from '../hooks/values.ts'
import { AnyCollector, FORMATS, type FormatName, readReply, serverSentEvents } from './formats.ts'
import { outputMessages } from './parts.ts'
import { requestContent } from './request.ts'

type Gives<M extends { doGenerate(...args: never): unknown }> = Awaited<ReturnType<M['doGenerate']>>
type Streams<M extends { doStream(...args: never): unknown }> =
  Awaited<ReturnType<M['doStream']>> extends { stream: ReadableStream<infer P> } ? P : never

function readStream(chunks: readonly unknown[]) {
  const reader = new AnyCollector()
  for (const chunk of chunks) reader.push(chunk)
  return reader.read()
}

const delta = (fields: object, index = 0) => ({ choices: [{ index, delta: fields }] })
const part = (index: number, fields: object) => delta({ tool_calls: [{ index, ...fields }] })

describe('reading chat completions', () => {
  it('reads refusals, reasoning of either name, and custom tools', () => {
    const message = {
      content: null,
      refusal: 'I will not.',
      reasoning: 'Hm.',
      tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sql', input: 'select 1' } }],
    }
    expect(readReply({ choices: [{ index: 0, message, finish_reason: 'stop' }] }).response).toEqual({
      finishReasons: ['stop'],
      reasoning: 'Hm.',
      refusal: 'I will not.',
      toolCalls: [{ toolCallId: 'c', apiName: 'sql', args: 'select 1' }],
    })
    expect(readStream([delta({ refusal: 'I ' }), delta({ refusal: 'will not.' })]).response.refusal).toBe(
      'I will not.',
    )
    expect(
      readStream([delta({ reasoning_content: 'H' }), delta({ reasoning_content: 'm.' })]).response.reasoning,
    ).toBe('Hm.')
  })

  it('keeps parallel calls apart whose pieces come in turns', () => {
    const { response } = readStream([
      part(0, { id: 'a', function: { name: 'search', arguments: '' } }),
      part(1, { id: 'b', function: { name: 'book', arguments: '' } }),
      part(0, { function: { arguments: '{"city":' } }),
      part(1, { function: { arguments: '{"id":' } }),
      part(1, { function: { arguments: '7}' } }),
      part(0, { function: { arguments: '"Berlin"}' } }),
    ])
    expect(response.toolCalls).toEqual([
      { toolCallId: 'a', apiName: 'search', args: { city: 'Berlin' } },
      { toolCallId: 'b', apiName: 'book', args: { id: 7 } },
    ])
  })

  it('takes the usage of the last chunk that has one, and the reasons of each choice', () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 4,
      completion_tokens_details: { reasoning_tokens: 2 },
    }
    const reading = readStream([
      { ...delta({ content: 'a' }), usage: null },
      { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
      { choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage },
    ])
    expect(reading.usage).toEqual({ inputTokens: 9, outputTokens: 4, reasoningTokens: 2 })
    expect(reading.response.finishReasons).toEqual(['length', 'stop'])
  })

  it('says what it has of a stream that broke off', () => {
    const { response, usage } = readStream([
      delta({ content: 'half' }),
      part(0, { id: 'a', function: { name: 'x', arguments: '{"y":' } }),
    ])
    expect(response).toEqual({
      finishReasons: ['error'],
      content: 'half',
      toolCalls: [{ toolCallId: 'a', apiName: 'x', args: '{"y":' }],
    })
    expect(usage).toBeUndefined()
  })
})

describe('reading responses', () => {
  it('reads refusals, reasoning summaries and what cut the answer short', () => {
    const reply = {
      id: 'resp_1',
      object: 'response',
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
      ],
    }
    expect(readReply(reply).response).toEqual({
      id: 'resp_1',
      finishReasons: ['length'],
      reasoning: 'Hm.',
      refusal: 'No.',
    })
  })

  it('says what it has of a stream that broke off: items that are done, text that was begun', () => {
    const created = {
      type: 'response.created',
      response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'm', output: [] },
    }
    const call = { type: 'function_call', call_id: 'a', name: 'x', arguments: '{}' }
    const { response } = readStream([
      created,
      { type: 'response.output_item.done', output_index: 0, item: call },
      { type: 'response.output_text.delta', delta: 'ha' },
      { type: 'response.output_text.delta', delta: 'lf' },
    ])
    expect(response).toMatchObject({
      id: 'resp_1',
      content: 'half',
      finishReasons: ['error'],
      toolCalls: [{ toolCallId: 'a', apiName: 'x', args: {} }],
    })
  })
})

describe('what a reply has beside text and calls', () => {
  it("is told, be it an interaction's step or a part of Gemini's that nobody knows", () => {
    const result = { type: 'function_result', call_id: 'c', name: 'f', result: 'found' }
    const steps = [result, { type: 'brand_new', x: 1 }]
    expect(readReply({ object: 'interaction', steps }).response.parts).toEqual(steps)
    const parts = [{ audioTranscription: { text: 'said' } }, { thoughtSignature: 'Cs0=' }, { text: '' }]
    expect(readReply({ candidates: [{ content: { parts } }] }).response.parts).toEqual([
      { type: 'generic', audioTranscription: { text: 'said' } },
    ])
  })
})

describe('a message of Claude in which another model takes over', () => {
  it('is of that model, streamed too', () => {
    const { response } = readStream([
      { type: 'message_start', message: { id: 'msg_1', model: 'claude-opus-5', content: [] } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: {
          type: 'fallback',
          from: { model: 'claude-opus-5' },
          to: { model: 'claude-sonnet-5' },
        },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ])
    expect(response.model).toBe('claude-sonnet-5')
  })
})

describe('a reply of several choices', () => {
  it('is as many messages, each with its own reason, whole or streamed', () => {
    const choice = (index: number, content: string, finish_reason: string) => ({
      index,
      finish_reason,
      message: { role: 'assistant', content },
    })
    const choices = [choice(0, 'one', 'stop'), choice(1, 'two', 'length'), choice(2, 'three', 'stop')]
    const chunks = choices.flatMap(({ index, message, finish_reason }) => [
      { choices: [{ index, delta: message }] },
      { choices: [{ index, delta: {}, finish_reason }] },
    ])
    for (const { response } of [
      readReply({ choices }),
      readStream(chunks),
      readStream([...chunks].reverse()),
    ]) {
      expect(response).toMatchObject({
        content: 'one',
        alternatives: [{ content: 'two' }, { content: 'three' }],
      })
      expect(outputMessages(response)).toEqual(
        ['one', 'two', 'three'].map((content, index) => ({
          role: 'assistant',
          parts: [{ type: 'text', content }],
          finish_reason: choices[index]?.finish_reason,
        })),
      )
    }
  })

  it('has the reason error in the place of one that was cut off', () => {
    const { response } = readStream([
      { choices: [{ index: 1, delta: { content: 'b' }, finish_reason: 'stop' }] },
      { choices: [{ index: 0, delta: { content: 'a' } }] },
    ])
    expect(response.finishReasons).toEqual(['error', 'stop'])
  })
})

describe('what a chat message may hold beside a text', () => {
  const read = (message: object) => readReply({ choices: [{ message, finish_reason: 'stop' }] }).response

  it('is a list of parts, thoughts among them', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'Ye' },
      { type: 'text', text: 's.' },
      { type: 'reference', reference_ids: [1] },
    ]
    const expected = {
      content: 'Yes.',
      reasoning: 'Hm.',
      parts: [{ type: 'reference', reference_ids: [1] }],
    }
    expect(read({ content })).toMatchObject(expected)
    const streamed = [[content[0]], 'Ye', 's.', [content[3]]].map((piece) => delta({ content: piece }))
    expect(readStream(streamed).response).toMatchObject(expected)
  })

  it('is what OpenRouter knows of the reasoning', () => {
    const reasoning_details = [
      { type: 'reasoning.summary', summary: 'Hm' },
      { type: 'reasoning.text', text: 'm.' },
      { type: 'reasoning.encrypted', data: 'x' },
    ]
    expect(read({ content: 'Yes.', reasoning_details }).reasoning).toBe('Hmm.')
    expect(read({ content: 'Yes.', reasoning: 'Short.', reasoning_details }).reasoning).toBe('Short.')
    const streamed = reasoning_details.map((detail) => delta({ reasoning_details: [detail] }))
    expect(readStream(streamed).response.reasoning).toBe('Hmm.')
  })

  it('is audio and images', () => {
    const audio = { id: 'audio_1', data: 'UklG', transcript: 'Yes.', expires_at: 1 }
    const images = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }]
    const parts = [
      { type: 'blob', modality: 'audio', content: 'UklG', id: 'audio_1', transcript: 'Yes.' },
      { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'iVBO' },
    ]
    expect(read({ content: null, audio, images })).toEqual({ finishReasons: ['stop'], parts })
    const streamed = [
      delta({ audio: { id: 'audio_1', data: 'Uk', transcript: 'Ye' } }),
      delta({ audio: { data: 'lG', transcript: 's.' } }),
      delta({ images }),
    ]
    expect(readStream(streamed).response.parts).toEqual(parts)
  })

  it('does not change what the reader of the stream has', () => {
    const chunks = [
      delta({ audio: { id: 'a', data: 'Uk' }, content: [{ type: 'text', text: 'a' }] }),
      delta({ audio: { data: 'lG' }, content: [{ type: 'text', text: 'b' }] }),
    ]
    const before = structuredClone(chunks)
    readStream(chunks)
    expect(chunks).toEqual(before)
  })
})

describe('what is counted', () => {
  it('is in x_groq, too, whole or streamed', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4 }
    const told = { inputTokens: 9, outputTokens: 4 }
    expect(readReply({ choices: [], x_groq: { usage } }).usage).toEqual(told)
    expect(readStream([delta({ content: 'a' }), { choices: [], x_groq: { id: 'x', usage } }]).usage).toEqual(
      told,
    )
  })

  it.each([
    [
      'chat completions',
      {
        choices: [],
        usage: { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details: { cache_write_tokens: 5 } },
      },
    ],
    [
      'responses',
      {
        object: 'response',
        output: [],
        usage: { input_tokens: 9, output_tokens: 1, input_tokens_details: { cache_write_tokens: 5 } },
      },
    ],
    [
      'messages',
      {
        type: 'message',
        content: [],
        usage: { input_tokens: 4, output_tokens: 1, cache_creation_input_tokens: 5 },
      },
    ],
    [
      'a language model',
      {
        content: [],
        finishReason: 'stop',
        usage: { inputTokens: { total: 9, cacheWrite: 5 }, outputTokens: { total: 1 } },
      },
    ],
  ])('has the tokens that were written to a cache: %s', (_name, reply) => {
    expect(readReply(reply).usage).toEqual({ inputTokens: 9, outputTokens: 1, cacheCreationInputTokens: 5 })
  })
})

describe('what a reply says of itself', () => {
  it('is known of a response before what was said is read, unless the provider ran something', () => {
    let looks = 0
    const call = {
      type: 'function_call',
      name: 'search',
      call_id: 'c',
      get arguments() {
        looks++
        return '{"q":1}'
      },
    }
    const reply = { object: 'response', id: 'r', model: 'm', output: [call] }
    const ran = { type: 'web_search_call', id: 'w', status: 'completed', action: { query: 'x' } }

    const reading = readReply(reply)
    expect(reading.head).toEqual({ id: 'r', model: 'm', finishReasons: ['tool_calls'] })
    expect(looks).toBe(0)
    expect(reading.response.toolCalls).toEqual([{ toolCallId: 'c', apiName: 'search', args: { q: 1 } }])

    const whole = readReply({ ...reply, output: [ran] })
    expect(whole.head).toBeUndefined()
    expect(whole.response.providerToolCalls).toHaveLength(1)
  })

  it('has the conversation that the provider keeps', () => {
    for (const conversation of ['conv_1', { id: 'conv_1' }])
      expect(readReply({ object: 'response', output: [], conversation }).response.conversationId).toBe(
        'conv_1',
      )
  })

  it('has no id where the server sends an empty one', () => {
    expect(readReply({ id: '', model: '', choices: [] }).response).toEqual({})
    const chunks = [
      { id: '', model: '', choices: [] },
      { id: 'x', model: 'm', ...delta({ content: 'a' }) },
    ]
    expect(readStream(chunks).response).toMatchObject({ id: 'x', model: 'm' })
    const messages = outputMessages({ toolCalls: [{ toolCallId: '', apiName: 'f', args: {} }] })
    expect(messages[0]?.parts).toEqual([{ type: 'tool_call', name: 'f', arguments: {} }])
  })

  it.each([
    ['completed', undefined, ['stop']],
    ['incomplete', 'max_output_tokens', ['length']],
    ['incomplete', 'content_filter', ['content_filter']],
    ['incomplete', undefined, ['length']],
    ['failed', undefined, ['error']],
    ['cancelled', undefined, ['error']],
    ['in_progress', undefined, undefined],
  ])('is why it ended: a response that is %s, because of %s', (status, reason, finishReasons) => {
    const reply = { object: 'response', status, incomplete_details: reason && { reason }, output: [] }
    expect(readReply(reply).response.finishReasons).toEqual(finishReasons)
  })
})

describe('what the provider ran', () => {
  const image = { type: 'blob', modality: 'image', mime_type: 'image/webp', content: 'UklG' }

  it.each([
    [
      { type: 'web_search_call', id: 'a', status: 'completed', action: { type: 'search', query: 'q' } },
      { apiName: 'web_search', args: { type: 'search', query: 'q' }, success: true },
    ],
    [
      { type: 'file_search_call', id: 'a', status: 'completed', queries: ['q'], results: [{ text: 't' }] },
      { apiName: 'file_search', args: { queries: ['q'] }, result: [{ text: 't' }], success: true },
    ],
    [
      {
        type: 'code_interpreter_call',
        id: 'a',
        status: 'failed',
        code: '1/0',
        container_id: 'c',
        outputs: null,
      },
      { apiName: 'code_interpreter', args: { code: '1/0', container_id: 'c' }, success: false },
    ],
    [
      {
        type: 'image_generation_call',
        id: 'a',
        status: 'completed',
        output_format: 'webp',
        revised_prompt: 'A cat.',
        result: 'UklG',
      },
      { apiName: 'image_generation', args: { revised_prompt: 'A cat.' }, result: image, success: true },
    ],
    [
      { type: 'mcp_call', id: 'a', server_label: 'wiki', name: 'find', arguments: '{"q":1}', output: 'it' },
      { apiName: 'find', identifier: 'wiki', args: { q: 1 }, result: 'it', success: true },
    ],
    [
      { type: 'mcp_call', id: 'a', server_label: 'wiki', name: 'find', arguments: '{}', error: 'down' },
      { apiName: 'find', identifier: 'wiki', args: {}, success: false, error: 'down' },
    ],
    [
      { type: 'mcp_list_tools', id: 'a', server_label: 'wiki', tools: [{ name: 'find' }] },
      {
        apiName: 'mcp_list_tools',
        identifier: 'wiki',
        args: {},
        result: [{ name: 'find' }],
        success: true,
      },
    ],
  ])('is read of the items of a response: %j', (item, expected) => {
    const { response } = readReply({ id: 'r', object: 'response', output: [item] })
    const call = { toolCallId: 'a', identifier: 'openai', ...expected }
    expect(response).toEqual({ id: 'r', finishReasons: ['stop'], providerToolCalls: [call] })
    const responses = FORMATS.find(({ name }) => name === 'responses')!
    const again = responses.read(responses.write({ response }, {})).response
    expect(again).toEqual(response)
  })

  it('is none where its caller is to use the computer', () => {
    const item = {
      type: 'computer_call',
      id: 'x',
      call_id: 'a',
      status: 'completed',
      action: { type: 'wait' },
    }
    const { response } = readReply({ id: 'r', object: 'response', output: [item] })
    expect(response).toEqual({ id: 'r', finishReasons: ['stop'], parts: [item] })
    const { messages } = requestContent({
      input: [item, { type: 'computer_call_output', call_id: 'a', output: 'shot' }],
    })
    expect(messages).toEqual([
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'a', name: 'computer', arguments: { action: { type: 'wait' } } }],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'a', response: 'shot' }] },
    ])
  })

  it('is read of the search of tools, whose result is an item of its own, unless the caller is to search', () => {
    const search = {
      type: 'tool_search_call',
      id: 'a',
      call_id: null,
      status: 'completed',
      arguments: { q: 1 },
    }
    const tools = [{ name: 'find' }]
    const found = { type: 'tool_search_output', id: 'b', call_id: null, tools }
    const output = [{ ...search, execution: 'server' }, found]
    expect(readReply({ object: 'response', output }).response.providerToolCalls).toEqual([
      {
        toolCallId: 'a',
        apiName: 'tool_search',
        identifier: 'openai',
        args: { q: 1 },
        result: tools,
        success: true,
      },
    ])
    const own = { ...search, execution: 'client', call_id: 'c' }
    expect(readReply({ object: 'response', output: [own] }).response).toEqual({
      finishReasons: ['stop'],
      parts: [own],
    })
  })

  it('is read of the blocks of a message, failures and results of earlier messages included', () => {
    const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' }
    const content = [
      { type: 'server_tool_use', id: 'a', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 'a', content: failed },
      { type: 'mcp_tool_use', id: 'b', name: 'find', server_name: 'wiki', input: {} },
      { type: 'mcp_tool_result', tool_use_id: 'b', is_error: false, content: [{ type: 'text', text: 'it' }] },
      { type: 'code_execution_tool_result', tool_use_id: 'z', content: { return_code: 0 } },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'compaction', content: 'So far.' },
    ]
    const reply = { type: 'message', id: 'm', content, stop_reason: 'pause_turn' }
    const { response } = readReply(reply)
    expect(response).toEqual({
      id: 'm',
      finishReasons: ['pause_turn'],
      providerToolCalls: [
        {
          toolCallId: 'a',
          apiName: 'web_search',
          identifier: 'anthropic',
          args: { query: 'q' },
          error: failed,
          success: false,
        },
        {
          toolCallId: 'b',
          apiName: 'find',
          identifier: 'wiki',
          args: {},
          result: [{ type: 'text', text: 'it' }],
          success: true,
        },
        {
          toolCallId: 'z',
          apiName: 'code_execution',
          identifier: 'anthropic',
          args: {},
          result: { return_code: 0 },
          success: true,
        },
      ],
      parts: [
        { type: 'redacted_thinking', data: 'x' },
        { type: 'compaction', content: 'So far.' },
      ],
    })
    const messages = FORMATS.find(({ name }) => name === 'messages')!
    expect(messages.read(messages.write({ response }, {})).response).toEqual(response)
  })

  it('stands in the output message, before the text', () => {
    const call = { toolCallId: 'a', apiName: 'web_search', identifier: 'openai', args: { query: 'q' } }
    const asked = {
      type: 'server_tool_call',
      id: 'a',
      name: 'web_search',
      server_tool_call: { type: 'web_search', arguments: { query: 'q' } },
    }
    const partsOf = (more: object) =>
      outputMessages({ content: 'Yes.', providerToolCalls: [{ ...call, ...more }] })[0]?.parts
    const text = { type: 'text', content: 'Yes.' }
    expect(partsOf({})).toEqual([asked, text])
    expect(partsOf({ result: ['it'], success: true })).toEqual([
      asked,
      {
        type: 'server_tool_call_response',
        id: 'a',
        server_tool_call_response: { type: 'web_search', result: ['it'] },
      },
      text,
    ])
    expect(partsOf({ result: image })).toEqual([asked, image, text])
  })
})

describe('what the models of the AI SDK give', () => {
  it('is read in version 4', () => {
    const reply: Gives<MockLanguageModelV4> = {
      content: [
        { type: 'reasoning', text: 'Hm.' },
        {
          type: 'tool-call',
          toolCallId: 's',
          toolName: 'web_search',
          input: '{"q":1}',
          providerExecuted: true,
        },
        { type: 'tool-result', toolCallId: 's', toolName: 'web_search', result: { hits: 2 } },
        { type: 'source', sourceType: 'url', id: '0', url: 'https://x.test' },
        { type: 'text', text: 'Yes.' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBO' } },
        { type: 'tool-call', toolCallId: 'c', toolName: 'find', input: '{"id": 7}' },
      ],
      finishReason: { unified: 'tool-calls', raw: 'tool_use' },
      usage: {
        inputTokens: { total: 9, noCache: 4, cacheRead: 3, cacheWrite: 2 },
        outputTokens: { total: 5, text: 4, reasoning: 1 },
      },
      response: { id: 'r', modelId: 'm' },
      warnings: [],
    }
    const read = readReply(reply)
    expect(read).toEqual({
      response: {
        id: 'r',
        model: 'm',
        finishReasons: ['tool_use'],
        content: 'Yes.',
        reasoning: 'Hm.',
        toolCalls: [{ toolCallId: 'c', apiName: 'find', args: { id: 7 }, argsText: '{"id": 7}' }],
        providerToolCalls: [
          {
            toolCallId: 's',
            apiName: 'web_search',
            identifier: 'provider',
            args: { q: 1 },
            result: { hits: 2 },
            success: true,
          },
        ],
        parts: [
          { type: 'source', sourceType: 'url', id: '0', url: 'https://x.test' },
          { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'iVBO' },
        ],
      },
      usage: {
        inputTokens: 9,
        outputTokens: 5,
        cachedInputTokens: 3,
        cacheCreationInputTokens: 2,
        reasoningTokens: 1,
      },
    })
    const { response, usage } = read
    const languageModel = FORMATS.find(({ name }) => name === 'languageModel')!
    expect(languageModel.read(languageModel.write({ response, ...(usage && { usage }) }, {}))).toEqual(read)
  })

  it('has the label of the MCP server whose tool the provider ran, and its failure', () => {
    const ran = { type: 'tool-call', input: '{"q":1}', providerExecuted: true, dynamic: true }
    // As `@ai-sdk/openai` and `@ai-sdk/anthropic` make them.
    const mcp = { type: 'call', serverLabel: 'wiki', name: 'ask', arguments: '{"q":1}' }
    const anthropic = { type: 'mcp-tool-use', serverName: 'shop' }
    const { response } = readReply({
      content: [
        { ...ran, toolCallId: 'a', toolName: 'mcp.ask' },
        { type: 'tool-result', toolCallId: 'a', toolName: 'mcp.ask', result: { ...mcp, output: 'yes' } },
        { ...ran, toolCallId: 'b', toolName: 'mcp.ask' },
        { type: 'tool-result', toolCallId: 'b', toolName: 'mcp.ask', result: { ...mcp, error: 'down' } },
        { ...ran, toolCallId: 'c', toolName: 'buy', providerMetadata: { anthropic } },
        {
          type: 'tool-result',
          toolCallId: 'c',
          toolName: 'buy',
          result: [],
          providerMetadata: { anthropic },
        },
      ],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: {}, outputTokens: {} },
    } as never)
    expect(response.providerToolCalls).toMatchObject([
      { toolCallId: 'a', apiName: 'mcp.ask', identifier: 'wiki', success: true },
      { toolCallId: 'b', apiName: 'mcp.ask', identifier: 'wiki', success: false, error: { error: 'down' } },
      { toolCallId: 'c', apiName: 'buy', identifier: 'shop', success: true },
    ])
  })

  it('is read in versions 2 and 3', () => {
    const usage = {
      inputTokens: 9,
      outputTokens: 5,
      totalTokens: 14,
      cachedInputTokens: 3,
      reasoningTokens: 1,
    }
    const content = [{ type: 'text' as const, text: 'Yes.' }]
    expect(readReply({ content, finishReason: 'stop', usage, warnings: [] })).toEqual({
      response: { content: 'Yes.', finishReasons: ['stop'] },
      usage: { inputTokens: 9, outputTokens: 5, cachedInputTokens: 3, reasoningTokens: 1 },
    })
    const reply: Gives<MockLanguageModelV3> = {
      content,
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: undefined, text: undefined, reasoning: undefined },
      },
      warnings: [],
    }
    expect(readReply(reply)).toEqual({ response: { content: 'Yes.', finishReasons: ['stop'] } })
  })

  it('is put together of the parts of a stream, in versions 2 and 4', () => {
    const shared = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r', modelId: 'm' },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'H' },
      { type: 'reasoning-delta', id: '0', delta: 'm.' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Ye' },
      { type: 'tool-input-start', id: 'c', toolName: 'find' },
      { type: 'tool-input-delta', id: 'c', delta: '{"id":' },
      { type: 'text-delta', id: '1', delta: 's.' },
      { type: 'text-end', id: '1' },
      { type: 'tool-input-delta', id: 'c', delta: '7}' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'find', input: '{"id":7}' },
    ] satisfies (Streams<MockLanguageModelV3> & Streams<MockLanguageModelV4>)[]
    const v4: Streams<MockLanguageModelV4> = {
      type: 'finish',
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage: {
        inputTokens: { total: 9, noCache: 9, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 5, text: 5, reasoning: undefined },
      },
    }
    const v2 = {
      type: 'finish',
      finishReason: 'tool-calls',
      usage: { inputTokens: 9, outputTokens: 5, totalTokens: 14 },
    }
    for (const finish of [v2, v4]) {
      expect(readStream([...shared, finish])).toEqual({
        response: {
          id: 'r',
          model: 'm',
          finishReasons: ['tool-calls'],
          content: 'Yes.',
          reasoning: 'Hm.',
          toolCalls: [{ toolCallId: 'c', apiName: 'find', args: { id: 7 } }],
        },
        usage: { inputTokens: 9, outputTokens: 5 },
      })
    }
    expect(readStream(shared.slice(0, 10)).response).toMatchObject({
      finishReasons: ['error'],
      toolCalls: [{ apiName: 'find', args: '{"id":' }],
    })
  })

  it('has what providers tell of a stream in several parts, and not as a part of what was said', () => {
    const chunks = [
      { type: 'response-metadata', id: 'r' },
      { type: 'response-metadata', id: undefined, modelId: 'm' },
      { type: 'custom', kind: 'anthropic.message_start', providerMetadata: { anthropic: { id: 'r' } } },
      { type: 'custom', kind: 'anthropic.compaction' },
      { type: 'finish', finishReason: 'stop', usage: {} },
    ]
    expect(readStream(chunks).response).toEqual({
      id: 'r',
      model: 'm',
      finishReasons: ['stop'],
      parts: [{ type: 'custom', kind: 'anthropic.compaction' }],
    })
  })
})

describe('an interaction', () => {
  const interactions = FORMATS.find(({ name }) => name === 'interactions')!
  const steps = [
    { type: 'user_input', content: [{ type: 'text', text: 'Draw it.' }] },
    { type: 'thought', signature: 's', summary: [{ type: 'text', text: 'Hm.' }] },
    { type: 'google_search_call', id: 'g', arguments: { queries: ['bags'] } },
    { type: 'google_search_result', call_id: 'g', result: [{ search_suggestions: 'x' }] },
    { type: 'mcp_server_tool_call', id: 'm', name: 'find', server_name: 'crm', arguments: { id: 7 } },
    {
      type: 'mcp_server_tool_result',
      call_id: 'm',
      name: 'find',
      server_name: 'crm',
      result: 'none',
      is_error: true,
    },
    { type: 'code_execution_call', id: 'x', arguments: { code: '1' } },
    {
      type: 'model_output',
      content: [
        { type: 'text', text: 'Here ' },
        { type: 'text', text: 'it is.' },
        { type: 'image', data: 'aGk=', mime_type: 'image/png' },
      ],
    },
    { type: 'function_call', id: 'c', name: 'save', arguments: { to: 'disk' } },
  ]
  const counts = {
    total_input_tokens: 7,
    total_cached_tokens: 2,
    total_output_tokens: 20,
    total_thought_tokens: 22,
    total_tool_use_tokens: 5,
    total_tokens: 54,
  }
  const reply = {
    id: 'v1_a',
    object: 'interaction',
    model: 'm',
    status: 'requires_action',
    steps,
    usage: counts,
  }
  const read = {
    response: {
      id: 'v1_a',
      model: 'm',
      finishReasons: ['tool_calls'],
      content: 'Here it is.',
      reasoning: 'Hm.',
      toolCalls: [{ toolCallId: 'c', apiName: 'save', args: { to: 'disk' } }],
      providerToolCalls: [
        {
          toolCallId: 'g',
          apiName: 'google_search',
          identifier: 'google',
          args: { queries: ['bags'] },
          result: [{ search_suggestions: 'x' }],
          success: true,
        },
        {
          toolCallId: 'm',
          apiName: 'find',
          identifier: 'crm',
          args: { id: 7 },
          error: 'none',
          success: false,
        },
        { toolCallId: 'x', apiName: 'code_execution', identifier: 'google', args: { code: '1' } },
      ],
      parts: [{ type: 'blob', modality: 'image', mime_type: 'image/png', content: 'aGk=' }],
    },
    usage: { inputTokens: 12, outputTokens: 42, cachedInputTokens: 2, reasoningTokens: 22 },
  }

  it('is read with what Google ran, what it drew and what it counts apart, whole, streamed and written anew', () => {
    expect(readReply(reply)).toEqual(read)
    const written = interactions.write(read, {})
    expect(readReply(written)).toEqual(read)
    expect(readStream(interactions.events(written, {}))).toEqual(read)
  })

  it('is put together of what the API streams, as far as it came', () => {
    const text = (words: string) => ({ type: 'text', text: words })
    const events = [
      { event_type: 'interaction.created', interaction: { id: 'v1_a', model: 'm', status: 'in_progress' } },
      { event_type: 'step.start', index: 0, step: { type: 'thought' } },
      { event_type: 'step.delta', index: 0, delta: { type: 'thought_summary', content: text('H') } },
      { event_type: 'step.delta', index: 0, delta: { type: 'thought_summary', content: text('m.') } },
      { event_type: 'step.delta', index: 0, delta: { type: 'thought_signature', signature: 's' } },
      { event_type: 'step.start', index: 1, step: { type: 'google_search_call', id: 'g' } },
      {
        event_type: 'step.delta',
        index: 1,
        delta: { type: 'google_search_call', arguments: { queries: ['b'] } },
      },
      {
        event_type: 'step.start',
        index: 2,
        step: { type: 'function_call', id: 'c', name: 'save', arguments: {} },
      },
      { event_type: 'step.delta', index: 2, delta: { type: 'arguments_delta', arguments: '{"to":' } },
      { event_type: 'step.delta', index: 2, delta: { type: 'arguments_delta', arguments: '"disk"}' } },
    ]
    const response = {
      id: 'v1_a',
      model: 'm',
      reasoning: 'Hm.',
      toolCalls: [{ toolCallId: 'c', apiName: 'save', args: { to: 'disk' } }],
      providerToolCalls: [
        { toolCallId: 'g', apiName: 'google_search', identifier: 'google', args: { queries: ['b'] } },
      ],
    }
    const end = {
      event_type: 'interaction.completed',
      interaction: { status: 'requires_action', usage: counts },
    }
    expect(readStream([...events, end])).toEqual({
      response: { ...response, finishReasons: ['tool_calls'] },
      usage: read.usage,
    })
    const cut = readStream(events.slice(0, -1)).response
    expect(cut).toMatchObject({ finishReasons: ['error'], toolCalls: [{ args: '{"to":' }] })
    const failed = { event_type: 'error', error: { code: 'busy', message: 'overloaded' } }
    expect(readStream([...events, failed]).response.finishReasons).toEqual(['error'])
  })

  it.each([
    ['completed', 'stop'],
    ['incomplete', 'length'],
    ['failed', 'error'],
    ['cancelled', 'error'],
    ['budget_exceeded', 'budget_exceeded'],
    ['in_progress', undefined],
    ['queued', undefined],
  ])('says why it ended: %s', (status, reason) => {
    expect(readReply({ id: 'v1_a', status, steps: [] }).response.finishReasons?.[0]).toBe(reason)
  })
})

describe('what is written', () => {
  const name = fc.stringMatching(/^[a-z_]{1,12}$/)
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 400 }))
  const args = fc.oneof(fc.constant({}), fc.dictionary(name, fc.jsonValue()))
  const plain = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T
  const count = fc.nat(100_000)

  const response: fc.Arbitrary<LlmResponse> = fc.record(
    {
      id: name,
      model: name,
      content: text,
      reasoning: text,
      toolCalls: fc.array(fc.record({ toolCallId: name, apiName: name, args }), {
        minLength: 1,
        maxLength: 3,
      }),
    },
    { requiredKeys: ['id', 'model'] },
  )
  const usage: fc.Arbitrary<TokenUsage> = fc
    .record({ fresh: count, cached: count, written: count, reasoning: count, said: count })
    .map(({ fresh, cached, written, reasoning, said }) => ({
      inputTokens: fresh + cached + written,
      outputTokens: said + reasoning,
      cachedInputTokens: cached,
      cacheCreationInputTokens: written,
      reasoningTokens: reasoning,
    }))

  /** What a format says by itself where nobody says why the model stopped. */
  const REASONS: Readonly<Record<FormatName, readonly [string, string]>> = {
    chat: ['stop', 'tool_calls'],
    responses: ['stop', 'tool_calls'],
    messages: ['end_turn', 'tool_use'],
    generateContent: ['STOP', 'STOP'],
    interactions: ['stop', 'tool_calls'],
    languageModel: ['stop', 'tool_calls'],
  }

  it.each(FORMATS.map((format) => [format.name, format] as const))(
    'is known as its own and reads as it was said, streamed or not: %s',
    (formatName, format) => {
      fc.assert(
        fc.property(response, usage, fc.boolean(), (said, counts, interleaved) => {
          const { cacheCreationInputTokens: _written, ...google } = counts
          const expected = plain({
            response: { ...said, finishReasons: [REASONS[formatName][said.toolCalls ? 1 : 0]] },
            usage: /generateContent|interactions/.test(formatName) ? google : counts,
          })
          const reading = { response: said, usage: counts }
          const reply = format.write(reading, {})
          const read = readReply(reply)
          expect(plain({ response: read.response, usage: read.usage })).toEqual(expected)

          const request = { stream: true, stream_options: { include_usage: true } }
          const sent = serverSentEvents(format, reply, request, interleaved)
          const events = sent
            .flatMap((event) => event.split('\n'))
            .filter((line) => line.startsWith('data: {'))
            .map((line) => JSON.parse(line.slice(6)) as unknown)
          const streamed = readStream(events)
          expect(plain({ response: streamed.response, usage: streamed.usage })).toEqual(expected)
        }),
        { numRuns: 60 },
      )
    },
  )
})

it('reads a reply in our own words as it is', () => {
  const message = {
    content: 'Yes.',
    reasoning: 'Hm.',
    refusal: 'No.',
    toolCalls: [{ toolCallId: 'a', apiName: 'find', args: {} }],
    providerToolCalls: [{ toolCallId: 'b', apiName: 'web_search', identifier: 'openai', args: {} }],
    parts: [{ type: 'compaction', id: 'c' }],
  }
  const response = {
    ...message,
    id: 'r',
    model: 'm',
    finishReasons: ['stop', 'stop'],
    conversationId: 'conv',
    alternatives: [message],
  }
  const usage = { inputTokens: 1, outputTokens: 2 }
  expect(readReply({ response, usage, costUsd: 3 })).toEqual({ response, usage, costUsd: 3 })
  expect(readReply({ ...response, usage, costUsd: 3 })).toEqual({ response, usage, costUsd: 3 })
  expect(readReply({ content: 'Yes.', id: '', model: '' })).toEqual({ response: { content: 'Yes.' } })
})

it('makes no room for parts that a server only counts', () => {
  const { response } = readStream([
    { type: 'response.output_text.delta', output_index: 1e12, content_index: 4e9, delta: 'a' },
    { type: 'response.output_text.delta', output_index: 1e12, content_index: -3.5, delta: 'b' },
  ])
  expect(response.content).toBe('ab')
})

describe('what is not understood', () => {
  it('is passed over in every place of every format', () => {
    const KEYS = [
      ...['type', 'role', 'content', 'text', 'id', 'index', 'delta', 'message', 'choices', 'finish_reason'],
      ...['tool_calls', 'function', 'arguments', 'usage', 'output', 'item', 'output_index', 'response'],
      ...['content_block', 'summary', 'candidates', 'parts', 'functionCall', 'toolCall', 'groundingMetadata'],
      ...['usageMetadata', 'finishReason', 'result', 'toolCallId', 'data', 'inlineData', 'audio', 'images'],
      ...[
        'reasoning_details',
        'thinking',
        'status',
        'tools',
        'input',
        'action',
        'providerExecuted',
        'image_url',
      ],
      ...[
        'steps',
        'step',
        'event_type',
        'interaction',
        'call_id',
        'is_error',
        'generation_config',
        'server_name',
      ],
    ]
    const TYPES = [
      ...[
        'message',
        'text',
        'thinking',
        'function_call',
        'web_search_call',
        'mcp_call',
        'tool_search_output',
      ],
      ...['image_generation_call', 'server_tool_use', 'web_search_tool_result', 'tool-call', 'tool-result'],
      ...['file', 'content_block_start', 'content_block_delta', 'message_delta', 'response.output_item.done'],
      ...[
        'response.output_text.delta',
        'text-delta',
        'tool-input-delta',
        'finish',
        '__proto__',
        'constructor',
      ],
      ...[
        'thought',
        'model_output',
        'google_search_call',
        'google_search_result',
        'function_result',
        'image',
      ],
      ...[
        'step.start',
        'step.delta',
        'interaction.completed',
        'interaction.status_update',
        'arguments_delta',
      ],
    ]
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(...TYPES, null, undefined, 0, -1, 1.5, Number.NaN, '', '{"a":1', true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 6 }),
      ),
    }))
    const object = fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 8 }) as fc.Arbitrary<
      Record<string, unknown>
    >
    fc.assert(
      fc.property(
        fc.constantFrom(...FORMATS),
        fc.array(object, { minLength: 1, maxLength: 4 }),
        (format, given) => {
          const collector = format.collector()
          for (const chunk of given) {
            collector.push(chunk)
            format.textOf(chunk)
          }
          for (const reply of [...given, collector.reply()]) {
            const { response, usage } = format.read(reply)
            for (const text of [response.content, response.reasoning, response.refusal])
              expect(['string', 'undefined']).toContain(typeof text)
            outputMessages(response)
            const written = format.write({ response, ...(usage && { usage }) }, {})
            format.events(written, {})
          }
          for (const key of ['messages', 'input', 'contents', 'prompt'])
            requestContent({ [key]: given, tools: given, system: given })
        },
      ),
      { numRuns: 500 },
    )
  })

  it.each([
    [{ content: [{ type: 'text', text: 'x' }] }],
    [{ content: { text: 'x' } }],
    [
      {
        content: 7,
        id: 7,
        model: {},
        finishReasons: 'stop',
        reasoning: [],
        refusal: true,
        toolCalls: 'none',
      },
    ],
    [{ response: { content: ['x'] } }],
  ])('has no content but text: %j', (reply) => {
    expect(readReply(reply).response).toEqual({})
  })

  it.each([[null], [7], [[]], [{}], [{ choices: 'no' }], [{ choices: [null] }], [{ output: {} }]])(
    'gives an empty reading: %j',
    (reply) => {
      expect(readReply(reply).response.content).toBeUndefined()
      expect(() => readStream([reply, reply])).not.toThrow()
      expect(() => readStream([delta({}), reply, part(0, { function: null })])).not.toThrow()
    },
  )
})
