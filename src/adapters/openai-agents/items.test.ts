import { describe, expect, it } from 'vitest'
import { requestToWire } from './items.ts'

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
