import { describe, expect, it } from 'vitest'
import { AnyCollector, readReply } from './formats.ts'

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

describe('what is not understood', () => {
  it.each([[null], [7], [[]], [{}], [{ choices: 'no' }], [{ choices: [null] }], [{ output: {} }]])(
    'gives an empty reading: %j',
    (reply) => {
      expect(readReply(reply).response.content).toBeUndefined()
      expect(() => readStream([reply, reply])).not.toThrow()
      expect(() => readStream([delta({}), reply, part(0, { function: null })])).not.toThrow()
    },
  )
})
