import { describe, expect, it } from 'vitest'
import { requestContent, samplingOf } from './request.ts'

describe('the JSON of a conversation', () => {
  it('is that of its messages, each as it is when it is sent', () => {
    const told: { role: string; content: unknown; tool_calls?: unknown[] }[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', content: { found: 1 } },
    ]
    const same = () => {
      const { messages, messagesJson } = requestContent({ messages: told })
      expect(messagesJson()).toBe(JSON.stringify(messages))
      return messagesJson()
    }
    const before = same()
    expect(same()).toBe(before)

    told[0]!.content = 'Be long.'
    ;(told[1]!.content as { text: string }[])[0]!.text = 'two'
    told[2]!.tool_calls!.push({
      id: 'c',
      type: 'function',
      function: { name: 'search', arguments: '{"q":1}' },
    })
    ;(told[3]!.content as { found: number }).found = 2
    const after = same()
    for (const part of ['Be long.', '"two"', '"search"', '{"found":2}']) expect(after).toContain(part)
  })
})

const partsOf = (request: object) => requestContent({ ...request }).messages.flatMap(({ parts }) => parts)

it('what a program gave, handed back to OpenAI, is told', () => {
  const input = [
    { type: 'program', id: 'prog_1', call_id: 'call_0', code: 'await find(7)', fingerprint: 'f' },
    { type: 'program_output', id: 'po_1', call_id: 'call_0', result: '42', status: 'completed' },
  ]
  expect(partsOf({ model: 'gpt-6', input })).toEqual([
    input[0],
    { type: 'tool_call_response', id: 'call_0', response: '42' },
  ])
})

describe('tool definitions', () => {
  it('keep the type and the name that they have in any API, and no secret', () => {
    const schema = { type: 'object' }
    const chat = [
      { type: 'function', function: { name: 'lookup', description: 'Finds.', parameters: schema } },
      { type: 'custom', custom: { name: 'sql' } },
    ]
    const responses = [
      { type: 'function', name: 'lookup', parameters: schema, strict: true },
      { type: 'web_search', search_context_size: 'low' },
      { type: 'mcp', server_label: 'wiki', server_url: 'https://x.test', headers: { Authorization: 'k' } },
    ]
    const messages = [
      { name: 'lookup', input_schema: schema },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 1 },
    ]
    const google = [{ functionDeclarations: [{ name: 'lookup', parameters: schema }] }, { googleSearch: {} }]
    const ai = [
      { type: 'function', name: 'lookup', inputSchema: schema },
      { type: 'provider', id: 'openai.web_search', name: 'web_search', args: {} },
    ]
    const definitionsOf = (request: object) => requestContent({ ...request }).toolDefinitions
    const lookup = { type: 'function', name: 'lookup', parameters: schema }
    expect(definitionsOf({ messages: [], tools: chat })).toEqual([
      { ...lookup, description: 'Finds.' },
      { type: 'custom', name: 'sql' },
    ])
    expect(definitionsOf({ input: '', tools: responses })).toEqual([
      lookup,
      { type: 'web_search', name: 'web_search' },
      { type: 'mcp', name: 'wiki', server_label: 'wiki' },
    ])
    expect(definitionsOf({ messages: [], system: 's', tools: messages })).toEqual([
      lookup,
      { type: 'web_search_20250305', name: 'web_search' },
    ])
    for (const request of [{ tools: google }, { config: { tools: google } }]) {
      expect(definitionsOf({ contents: [], ...request })).toEqual([
        lookup,
        { type: 'googleSearch', name: 'googleSearch' },
      ])
    }
    expect(definitionsOf({ prompt: [{ role: 'user', content: [] }], tools: ai })).toEqual([
      lookup,
      { type: 'provider', name: 'web_search' },
    ])
  })
})

describe('what is no text in a message', () => {
  const png = 'iVBORw0KGgo='
  const blob = (modality: string, mime_type?: string) => ({
    type: 'blob',
    modality,
    ...(mime_type && { mime_type }),
    content: png,
  })
  const uri = (modality: string, more = {}) => ({ type: 'uri', modality, ...more, uri: 'https://x.test/a' })
  const file = (modality: string) => ({ type: 'file', modality, file_id: 'file_1' })
  const dataUrl = `data:image/png;base64,${png}`
  const url = 'https://x.test/a'

  it.each([
    ['chat: an image', { type: 'image_url', image_url: { url: dataUrl } }, blob('image', 'image/png')],
    ['chat: an address', { type: 'image_url', image_url: { url } }, uri('image')],
    [
      'chat: audio',
      { type: 'input_audio', input_audio: { data: png, format: 'wav' } },
      blob('audio', 'audio/wav'),
    ],
    ['chat: a file', { type: 'file', file: { file_id: 'file_1' } }, file('document')],
    ['chat: a video', { type: 'video_url', video_url: { url } }, uri('video')],
    ['responses: an image', { type: 'input_image', image_url: dataUrl }, blob('image', 'image/png')],
    ['responses: an image file', { type: 'input_image', file_id: 'file_1' }, file('image')],
    ['responses: a file', { type: 'input_file', file_data: dataUrl }, blob('document', 'image/png')],
    ['responses: a file at an address', { type: 'input_file', file_url: url }, uri('document')],
    [
      'messages: an image',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      blob('image', 'image/png'),
    ],
    ['messages: an address', { type: 'image', source: { type: 'url', url } }, uri('image')],
    ['messages: a file', { type: 'document', source: { type: 'file', file_id: 'file_1' } }, file('document')],
    [
      'messages: a document of text',
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hi.' } },
      { type: 'text', content: 'Hi.' },
    ],
    ['the AI SDK: bytes', { type: 'file', mediaType: 'image/png', data: png }, blob('image', 'image/png')],
    [
      'the AI SDK: an array of bytes',
      { type: 'file', mediaType: 'image/png', data: Uint8Array.from(Buffer.from(png, 'base64')) },
      blob('image', 'image/png'),
    ],
    [
      'the AI SDK: a URL',
      { type: 'file', mediaType: 'audio/mpeg', data: new URL(url) },
      uri('audio', { mime_type: 'audio/mpeg' }),
    ],
    [
      'the AI SDK, version 4',
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } },
      blob('image', 'image/png'),
    ],
  ])("is told in the conventions' shape: %s", (_name, part, expected) => {
    expect(partsOf({ messages: [{ role: 'user', content: [part] }] })).toEqual([expected])
    expect(partsOf({ input: [{ role: 'user', content: [part] }] })).toEqual([expected])
  })

  it.each([
    ['chat', { type: 'file', file: { filename: 'order.pdf', file_data: dataUrl } }],
    ['responses', { type: 'input_file', filename: 'order.pdf', file_url: url }],
    ['messages', { type: 'document', title: 'order.pdf', source: { type: 'file', file_id: 'f' } }],
    ['the AI SDK', { type: 'file', filename: 'order.pdf', mediaType: 'application/pdf', data: png }],
    ['Google', { inlineData: { displayName: 'order.pdf', mimeType: 'application/pdf', data: png } }],
  ])('has the name of its file: %s', (name, part) => {
    const field = name === 'Google' ? 'contents' : 'messages'
    const content = name === 'Google' ? { parts: [part] } : { content: [part] }
    expect(partsOf({ [field]: [{ role: 'user', ...content }] })).toEqual([
      expect.objectContaining({ modality: 'document', filename: 'order.pdf' }),
    ])
  })

  it('is told so of Google, whose parts have no type', () => {
    const contents = [
      { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: png } }] },
      { role: 'user', parts: [{ fileData: { mimeType: 'video/mp4', fileUri: url } }] },
      {
        role: 'model',
        parts: [{ text: 'Hm.', thought: true }, { functionCall: { name: 'f', args: { a: 1 } } }],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { ok: true } } }] },
    ]
    const { messages } = requestContent({ contents, systemInstruction: { parts: [{ text: 'Be brief.' }] } })
    expect(messages).toEqual([
      { role: 'user', parts: [blob('image', 'image/png')] },
      { role: 'user', parts: [uri('video', { mime_type: 'video/mp4' })] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'Hm.' },
          { type: 'tool_call', name: 'f', arguments: { a: 1 } },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'f', response: { ok: true } }] },
    ])
  })
})

describe('a conversation', () => {
  it('may mix the messages of several APIs', () => {
    const messages = [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { type: 'function_call', call_id: 'b', name: 'g', arguments: '{}' },
      { type: 'function_call_output', call_id: 'b', output: 'two' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'h', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'three' }] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd', toolName: 'i', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'd', output: { type: 'text', value: 'four' } }],
      },
    ]
    const call = (id: string, name: string) => ({ type: 'tool_call', id, name, arguments: {} })
    const result = (id: string, response: string) => ({ type: 'tool_call_response', id, response })
    expect(partsOf({ messages })).toEqual([
      ...[call('a', 'f'), result('a', 'one'), call('b', 'g'), result('b', 'two')],
      ...[call('c', 'h'), result('c', 'three'), call('d', 'i'), result('d', 'four')],
    ])
  })

  it('has what the provider ran, and thoughts, in any API', () => {
    const items = [
      {
        type: 'mcp_call',
        id: 'm',
        server_label: 'wiki',
        name: 'search',
        arguments: '{"q":1}',
        output: 'found',
      },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'compaction', id: 'c', encrypted_content: 'x' },
    ]
    expect(partsOf({ input: items })).toEqual([
      {
        type: 'server_tool_call',
        id: 'm',
        name: 'search',
        server_tool_call: { type: 'search', arguments: { q: 1 } },
      },
      {
        type: 'server_tool_call_response',
        id: 'm',
        server_tool_call_response: { type: 'search', result: 'found' },
      },
      { type: 'reasoning', content: 'Hm.' },
      { type: 'compaction', id: 'c', encrypted_content: 'x' },
    ])
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    ]
    expect(partsOf({ system: '', messages: [{ role: 'assistant', content }] })).toEqual([
      { type: 'reasoning', content: 'Hm.' },
      {
        type: 'server_tool_call',
        id: 's',
        name: 'web_search',
        server_tool_call: { type: 'web_search', arguments: { query: 'q' } },
      },
      {
        type: 'server_tool_call_response',
        id: 's',
        server_tool_call_response: { type: 'web_search', result: [] },
      },
    ])
    expect(
      partsOf({
        messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: [{ text: 'Hm.' }] }] }],
      }),
    ).toEqual([{ type: 'reasoning', content: 'Hm.' }])
  })

  it.each([[undefined], [null], [7], ['text'], [{}], [[null, 7, 'text', {}, [], { role: 7 }]]])(
    'of any other shape makes no trouble: %j',
    (messages) => {
      for (const key of ['messages', 'input', 'contents', 'prompt', 'system', 'tools']) {
        const content = requestContent({ [key]: messages })
        expect(content.messagesJson()).toBe(JSON.stringify(content.messages))
      }
    },
  )

  it('has parts of hostile types', () => {
    const content = ['constructor', '__proto__', 'toString', ''].map((type) => ({ type, text: 'x' }))
    expect(partsOf({ messages: [{ role: 'user', content }] }).map(({ type }) => type)).toEqual(
      content.map(({ type }) => type),
    )
  })
})

describe('sampling parameters', () => {
  it('are read under the names of each API', () => {
    const told = { temperature: 0.5, topP: 0.9, maxTokens: 100, stopSequences: ['END'] }
    expect(samplingOf({ temperature: 0.5, top_p: 0.9, max_completion_tokens: 100, stop: 'END' })).toEqual(
      told,
    )
    expect(samplingOf({ temperature: 0.5, top_p: 0.9, max_tokens: 100, stop_sequences: ['END'] })).toEqual(
      told,
    )
    const camel = { temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: ['END'] }
    for (const request of [camel, { generationConfig: camel }, { config: camel }])
      expect(samplingOf(request)).toEqual(told)
  })

  it('leave out what says nothing', () => {
    expect(samplingOf({ n: 1, stream: false, temperature: null, top_p: '1', seed: Number.NaN })).toEqual({})
    expect(samplingOf({ n: 3, stream: true, reasoning: { effort: 'high' } })).toEqual({
      choiceCount: 3,
      stream: true,
      reasoningLevel: 'high',
    })
  })

  it.each([
    [{ response_format: { type: 'json_schema' } }, 'json'],
    [{ text: { format: { type: 'text' } } }, 'text'],
    [{ responseFormat: { type: 'json' } }, 'json'],
    [{ generationConfig: { responseMimeType: 'application/json' } }, 'json'],
  ])('tell the type of the output: %j', (request, outputType) => {
    expect(samplingOf(request)).toEqual({ outputType })
  })
})
