import { describe, expect, it } from 'vitest'
import { requestContent } from './request.ts'

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
