import { expect, it } from 'vitest'
import { messagesOf } from './messages.ts'

it('shows what a provider ran as a call and its result, in our words or in those of others', () => {
  const parts = [
    {
      type: 'server_tool_call',
      id: 'a',
      name: 'web_search',
      server_tool_call: { type: 'web_search', arguments: { query: 'q' } },
    },
    {
      type: 'server_tool_call_response',
      id: 'a',
      server_tool_call_response: { type: 'web_search', result: ['it'] },
    },
    { type: 'server_tool_call', id: 'b', name: 'run', server_tool_call: { type: 'run', code: '1' } },
    { type: 'server_tool_call_response', id: 'b', server_tool_call_response: { type: 'run', output: 2 } },
  ]
  expect(messagesOf(JSON.stringify([{ role: 'assistant', parts }]), 'assistant')).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'tool_call', id: 'a', name: 'web_search', arguments: { query: 'q' } },
        { type: 'tool_result', id: 'a', result: ['it'] },
        { type: 'tool_call', id: 'b', name: 'run', arguments: { type: 'run', code: '1' } },
        { type: 'tool_result', id: 'b', result: { type: 'run', output: 2 } },
      ],
    },
  ])
})
