import { describe, expect, it } from 'vitest'
import { readResponse, requestToWire } from './items.ts'

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

it('is told which model of the AI SDK answered by what it writes into its items, as `aisdk()` does', () => {
  const reply = (model: string) => {
    const output = [{ type: 'message', role: 'assistant', content: [], providerData: { model } }]
    return readResponse({ output, usage: {}, responseId: 'r' } as never).response.model
  }
  expect(reply('openai.chat:gpt-5')).toBe('gpt-5')
  expect(reply('ollama:llama3:8b')).toBe('llama3:8b')
  expect(reply('gpt-5')).toBeUndefined()
})
