import { describe, expect, it } from 'vitest'
import { requestFromWire } from './changed-request.ts'
import { changedReply, readResponse, requestToWire } from './items.ts'

describe('requestToWire', () => {
  it('puts the conversation into other words for those who read it, once', () => {
    let looks = 0
    const item = {
      get type() {
        looks++
        return 'function_call_result'
      },
      callId: 'call_1',
      output: { type: 'text', text: 'found' },
    }

    const wire = requestToWire({ input: [item], systemInstructions: 'Be brief.' }, 'gpt-5', true)

    expect(looks).toBe(0)
    expect(Object.keys(wire)).toEqual(['model', 'instructions', 'input', 'stream'])
    expect(structuredClone(wire).input).toEqual([
      { type: 'function_call_output', call_id: 'call_1', output: 'found' },
    ])
    expect(wire.input).toBe(wire.input)
    expect(looks).toBe(1)
    expect(Object.getOwnPropertyDescriptor(wire, 'input')).toMatchObject({ writable: true, enumerable: true })
  })

  it('leaves out a conversation that is empty', () => {
    expect(requestToWire({ input: [] }, 'gpt-5', false)).toEqual({ model: 'gpt-5' })
  })
})

it('pictures and files stay where a gate changes the text beside them', () => {
  const media = [
    { type: 'input_image', image: 'data:image/png;base64,iVBO', detail: 'low' },
    { type: 'input_image', image: { id: 'file_1' } },
    { type: 'input_file', file: { url: 'https://x.test/a.pdf' } },
    { type: 'input_file', file: { id: 'file_2' } },
    { type: 'input_file', file: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' },
  ]
  const text = (text: string) => ({ type: 'input_text', text })
  const request = { input: [{ type: 'message', role: 'user', content: [text('secret'), ...media] }] }
  const asked = requestToWire(request, 'gpt-5', false)
  const decided = JSON.parse(JSON.stringify(asked).replace('secret', '***'))
  expect(requestFromWire(request, asked, decided).input).toEqual([
    { type: 'message', role: 'user', content: [text('***'), ...media] },
  ])
})

it('is told which model of the AI SDK answered by what it writes into its items, as `aisdk()` does', () => {
  const reply = (model: string) => {
    const output = [{ type: 'message', role: 'assistant', content: [], providerData: { model } }]
    return readResponse({ output, usage: {}, responseId: 'r' } as never).response.model
  }
  expect(reply('openai.chat:gpt-5')).toBe('gpt-5')
  expect(reply('ollama:llama3:8b')).toBe('llama3:8b')
  expect(reply('gpt-5')).toBeUndefined()
})

it.each([
  [{ finishReason: { unified: 'length', raw: 'max_tokens' } }, 'length'],
  [{ finishReason: 'content-filter' }, 'content_filter'],
  [{ finishReason: 'stop' }, 'stop'],
  [{ choices: [{ finish_reason: 'length' }] }, 'length'],
  [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
  [undefined, 'stop'],
])('is told that a reply was cut off where only what stands beside it says so: %j', (providerData, told) => {
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Be' }] }]
  expect(readResponse({ output, usage: {}, providerData } as never).response.finishReasons).toEqual([told])
})

describe('changedReply', () => {
  const thought = {
    type: 'reasoning',
    content: [{ type: 'input_text', text: 'My secret.' }],
    rawContent: [{ type: 'reasoning_text', text: 'My secret.' }],
    providerData: { signature: 'Eq8=', content: [{ text: 'My secret.' }] },
  }
  const text = {
    ...{ type: 'message', role: 'assistant', status: 'completed' },
    content: [
      {
        ...{ type: 'output_text', text: 'Looking.' },
        providerData: { annotations: [1], tool_calls: [{ function: { arguments: '{"q":"secret"}' } }] },
      },
    ],
  }
  const call = { type: 'function_call', callId: 'c1', name: 'look', arguments: '{"q":"secret"}' }
  const signed = { ...call, providerData: { extra_content: 'Cs0=' } }
  const given = {
    usage: {},
    output: [thought, text, signed],
    responseId: 'r',
    providerData: { model: 'm', output_text: 'secret', choices: ['secret'] },
  }
  const before = readResponse(given).response
  const changed = (fields: object) => changedReply(given, { ...before, ...fields }, {})

  it('changes the arguments of a call alone, and what says them again', () => {
    const [toolCall] = before.toolCalls ?? []
    const { output, providerData } = changed({ toolCalls: [{ ...toolCall, args: { q: 'x' } }] })
    expect(output[0]).toEqual(thought)
    expect(output.slice(1)).toEqual([
      { ...text, content: [{ ...text.content[0], providerData: { annotations: [1] } }] },
      { ...signed, arguments: '{"q":"x"}' },
    ])
    expect(providerData).toEqual({ model: 'm' })
  })

  it('changes a thought wherever it stands', () => {
    const { output } = changed({ reasoning: 'Mine.' })
    expect(output[0]).toEqual({
      type: 'reasoning',
      content: [{ type: 'input_text', text: 'Mine.' }],
      rawContent: [{ type: 'reasoning_text', text: 'Mine.' }],
      providerData: { signature: 'Eq8=' },
    })
    expect(output[2]).toEqual(signed)
  })

  it('leaves out a call that a gate took away', () => {
    expect(changed({ toolCalls: [] }).output.map(({ type }) => type)).toEqual(['reasoning', 'message'])
  })
})

it('tells what the provider says that a reply cost', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, cost: 0.5, is_byok: false }
  const given = {
    output: [],
    usage: { inputTokens: 1, outputTokens: 2 },
    responseId: 'r',
    providerData: { usage },
  }
  expect(readResponse(given)).toMatchObject({
    usage: { inputTokens: 1, outputTokens: 2 },
    reportedCostUsd: 0.5,
  })
})

it('counts what chat completions count, of which the SDK keeps a part', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 5,
    total_tokens: 105,
    prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
  }
  const details = { inputTokensDetails: [{ cached_tokens: 30 }] }
  const given = { output: [], usage: { inputTokens: 100, outputTokens: 5, ...details }, responseId: 'r' }
  expect(readResponse({ ...given, providerData: { usage } }).usage).toEqual({
    inputTokens: 100,
    outputTokens: 5,
    cachedInputTokens: 30,
    cacheCreationInputTokens: 20,
  })
})

it('tells a streamed thought of chat completions, and puts back what a gate makes of it', () => {
  const thought = {
    type: 'reasoning',
    content: [],
    rawContent: [{ type: 'reasoning_text', text: 'A secret.' }],
  }
  const reply = { output: [thought], usage: {}, responseId: 'r' }
  expect(readResponse(reply).response.reasoning).toBe('A secret.')

  const request = { input: [thought] }
  const asked = requestToWire(request, 'm', false)
  const decided = JSON.parse(JSON.stringify(asked).replaceAll('secret', '***'))
  expect(requestFromWire(request, asked, decided).input).toEqual([
    { ...thought, rawContent: [{ type: 'reasoning_text', text: 'A ***.' }] },
  ])
})
