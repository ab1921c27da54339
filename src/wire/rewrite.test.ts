import { expect, test } from 'vitest'
import type { LlmResponse } from '../hooks/values.ts'
import type { WireFormat } from './format.ts'
import { FORMATS } from './formats.ts'
import type { Loose } from './reading.ts'
import { rewritten } from './rewrite.ts'

const formatOf = (name: WireFormat['name']) => FORMATS.find((format) => format.name === name) as WireFormat

/** What a gate makes of a reply that changes what it says, and nothing else. */
function changed(
  name: WireFormat['name'],
  reply: Loose,
  change: (before: LlmResponse) => LlmResponse,
): Loose {
  const format = formatOf(name)
  return rewritten(format, reply, change(format.read(reply).response), {})
}

const cleaned = (before: LlmResponse): LlmResponse => ({
  ...before,
  ...(before.content !== undefined && { content: before.content.replace('ann@shop.test', '[email]') }),
})

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5',
  container: { id: 'container_1' },
  content: [
    { type: 'thinking', thinking: 'Whose order is it?', signature: 'Eq8=' },
    { type: 'redacted_thinking', data: 'Rt0=' },
    { type: 'text', text: 'It is of ', citations: null },
    { type: 'text', text: 'ann@shop.test', citations: [{ cited_text: 'mail: ann@shop.test' }] },
    { type: 'text', text: ', see page 2.', citations: [{ cited_text: 'page 2' }] },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: 'find(7)' } },
    {
      type: 'tool_use',
      id: 'toolu_1',
      name: 'find_order',
      input: { id: 7 },
      caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' },
    },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 4, service_tier: 'standard' },
}

test('a changed text leaves signatures, callers, the container and the order of blocks as they are', () => {
  const content = MESSAGE.content.map((block) =>
    block.text === 'ann@shop.test' ? { ...block, text: '[email]', citations: [] } : block,
  )
  expect(changed('messages', MESSAGE, cleaned)).toEqual({ ...MESSAGE, content })
})

test('a changed thought keeps its signature, a changed call its caller, and what is taken away is gone', () => {
  const told = changed('messages', MESSAGE, (before) => ({
    ...before,
    reasoning: 'Whose?',
    toolCalls: [{ toolCallId: 'toolu_1', apiName: 'find_order', args: { id: 8 } }],
  })) as typeof MESSAGE
  expect(told.content[0]).toEqual({ type: 'thinking', thinking: 'Whose?', signature: 'Eq8=' })
  expect(told.content.at(-1)).toEqual({ ...MESSAGE.content.at(-1), input: { id: 8 } })
  const { toolCalls: _calls, ...without } = formatOf('messages').read(MESSAGE).response
  const left = changed('messages', MESSAGE, () => without) as typeof MESSAGE
  expect(left.content).toEqual(MESSAGE.content.slice(0, -1))
})

test('a call that a gate adds stands behind the others, a text before them', () => {
  const { content: _content, ...silent } = MESSAGE
  const call = { toolCallId: 'toolu_2', apiName: 'note', args: {} }
  const told = changed('messages', { ...silent, content: MESSAGE.content.slice(-1) }, (before) => ({
    ...before,
    content: 'I look.',
    toolCalls: [...(before.toolCalls ?? []), call],
  })) as typeof MESSAGE
  expect(told.content).toEqual([
    { type: 'text', text: 'I look.' },
    MESSAGE.content.at(-1),
    { type: 'tool_use', id: 'toolu_2', name: 'note', input: {} },
  ])
})

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  model: 'gpt-6',
  status: 'completed',
  service_tier: 'priority',
  output: [
    { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
    { id: 'prog_1', type: 'program', call_id: 'call_0', code: 'await find(7)', fingerprint: 'f' },
    {
      id: 'ws_1',
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'ann@shop.test', sources: [] },
    },
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'Of ann@shop.test.', annotations: [{ start_index: 3 }], logprobs: [{}] },
      ],
    },
    {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'call_1',
      name: 'find',
      namespace: 'orders',
      arguments: '{"id": 7}',
      caller: { type: 'program', caller_id: 'call_0' },
    },
    { id: 'ct_1', type: 'custom_tool_call', call_id: 'call_2', name: 'sql', input: 'select 1' },
  ],
  usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
}

test('of a response, items keep their ids, namespaces, callers and what is encrypted', () => {
  const told = changed('responses', RESPONSE, cleaned) as typeof RESPONSE
  const output = RESPONSE.output.map((item) =>
    item.id === 'msg_1'
      ? { ...item, content: [{ type: 'output_text', text: 'Of [email].', annotations: [], logprobs: [] }] }
      : item,
  )
  expect(told).toEqual({ ...RESPONSE, output })
})

test('what the provider ran is changed where it stands', () => {
  const told = changed('responses', RESPONSE, (before) => ({
    ...before,
    providerToolCalls: before.providerToolCalls?.map((run) => ({
      ...run,
      args: { type: 'search', query: '[email]', sources: [] },
    })),
  })) as typeof RESPONSE
  const output = RESPONSE.output.map((item) =>
    item.id === 'ws_1' ? { ...item, action: { type: 'search', query: '[email]', sources: [] } } : item,
  )
  expect(told).toEqual({ ...RESPONSE, output })
})

test('a custom tool stays one', () => {
  const told = changed('responses', RESPONSE, (before) => ({
    ...before,
    toolCalls:
      before.toolCalls?.map((call) => (call.apiName === 'sql' ? { ...call, args: 'select 2' } : call)) ?? [],
  })) as typeof RESPONSE
  expect(told.output.at(-1)).toEqual({ ...RESPONSE.output.at(-1), input: 'select 2' })
})

const CONTENT = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [
          { text: 'Whose?', thought: true },
          { text: 'Of ann@shop.test.' },
          { functionCall: { name: 'find', args: { id: 7 } }, thoughtSignature: 'Cs0=' },
        ],
      },
      finishReason: 'STOP',
      index: 0,
      safetyRatings: [],
    },
  ],
  responseId: 'r1',
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 },
}

test("Google's thought signatures stay, and what repeats the text does not", () => {
  const told = changed('generateContent', CONTENT, cleaned)
  expect(told).toEqual(JSON.parse(JSON.stringify(CONTENT).replace('ann@shop.test', '[email]')))
  const grounded = structuredClone(CONTENT) as typeof CONTENT & { candidates: Loose[] }
  Object.assign(grounded.candidates[0] as Loose, {
    groundingMetadata: {
      webSearchQueries: ['order 7'],
      groundingSupports: [{ segment: { text: 'ann@shop.test' } }],
    },
    citationMetadata: { citations: [{ title: 'ann@shop.test' }] },
  })
  const clean = changed('generateContent', grounded, cleaned)
  expect(JSON.stringify(clean)).not.toContain('ann@')
  expect(clean).toMatchObject({ candidates: [{ groundingMetadata: { webSearchQueries: ['order 7'] } }] })
})

const CHOICE = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gemini-3.8-flash',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      logprobs: { content: [{ token: 'ann' }] },
      message: {
        role: 'assistant',
        content: 'Of ann@shop.test.',
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            function: { name: 'find', arguments: '{"id": 7}' },
            extra_content: { google: { thought_signature: 'Cs0=' } },
          },
        ],
      },
    },
  ],
  usage: { prompt_tokens: 9, completion_tokens: 4 },
}

test('what compatible servers add to a call of a chat completion stays, and what repeats the text does not', () => {
  const told = changed('chat', CHOICE, cleaned) as typeof CHOICE
  const [choice] = CHOICE.choices
  const message = { ...choice?.message, content: 'Of [email].' }
  expect(told).toEqual({ ...CHOICE, choices: [{ ...choice, logprobs: null, message }] })
})

test('a reasoning that a server tells in two fields is not left in the second one', () => {
  const reply = {
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: {
          content: 'Hi',
          reasoning: 'Of ann@shop.test',
          reasoning_details: [{ text: 'ann@shop.test' }],
        },
      },
    ],
  }
  const told = changed('chat', reply, (before) => ({ ...before, reasoning: 'Of [email]' }))
  expect(JSON.stringify(told)).not.toContain('ann@shop.test')
  expect(formatOf('chat').read(told).response.reasoning).toBe('Of [email]')
})

test('arguments that a gate changed are written, also where it left the model’s text of them', () => {
  const told = changed('chat', CHOICE, (before) => ({
    ...before,
    toolCalls: before.toolCalls?.map((call) => ({ ...call, args: { id: 8 } })) ?? [],
  })) as typeof CHOICE
  expect(told.choices[0]?.message.tool_calls[0]).toEqual({
    ...CHOICE.choices[0]?.message.tool_calls[0],
    function: { name: 'find', arguments: '{"id":8}' },
  })
})

test('a streamed reply of the AI SDK keeps what its provider wants back', () => {
  const format = formatOf('languageModel')
  const signature = { anthropic: { signature: 'Eq8=' } }
  const collector = format.collector()
  for (const chunk of [
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'Whose?' },
    { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signature },
    { type: 'reasoning-end', id: '0' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Of ann@shop.test.' },
    { type: 'text-end', id: '1' },
    {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'end_turn' },
      usage: { inputTokens: { total: 9 } },
    },
  ]) {
    collector.push(chunk)
  }
  const told = changed('languageModel', collector.reply(), cleaned)
  const events = format.events(told, {})
  expect(events).toContainEqual({ type: 'reasoning-end', id: '0', providerMetadata: signature })
  expect(events).toContainEqual(expect.objectContaining({ usage: { inputTokens: { total: 9 } } }))
  expect(JSON.stringify(events)).not.toContain('ann@')
})

const INTERACTION = {
  id: 'i1',
  object: 'interaction',
  status: 'requires_action',
  steps: [
    { type: 'thought', signature: 'Cs0=', summary: [{ type: 'text', text: 'Whose?' }] },
    { type: 'model_output', content: [{ type: 'text', text: 'Of ann@shop.test.' }] },
    { type: 'function_call', id: 'c1', name: 'find', arguments: { id: 7 }, signature: 'Ds0=' },
  ],
}

test('of an interaction, the signatures of steps stay', () => {
  const told = changed('interactions', INTERACTION, cleaned)
  expect(told).toEqual(JSON.parse(JSON.stringify(INTERACTION).replace('ann@shop.test', '[email]')))
})
