/** Models that say the same in three ways: find order 7, drop the table, and an answer. */
import { MockLanguageModelV4 } from 'ai/test'
import { callTool, scriptedFetch } from 'hookspan/mock'

const answer = 'Order 7 was looked up.'
const calls = [
  { name: 'find_order', args: { id: 7 } },
  { name: 'drop_table', args: { name: 'orders' } },
]

export const plan = () => calls

const fetch = scriptedFetch({
  steps: [...calls.map(({ name, args }) => callTool(name, args)), { content: answer }],
})
export const options = { apiKey: 'none', fetch }

let turn = 0
const usage = { inputTokens: { total: 20 }, outputTokens: { total: 5 } }
export const model = new MockLanguageModelV4({
  doGenerate: async () => {
    const call = calls[turn++]
    if (call === undefined) {
      const finishReason = { unified: 'stop', raw: 'stop' }
      return { content: [{ type: 'text', text: answer }], finishReason, usage, warnings: [] }
    }
    const { name: toolName, args } = call
    const content = [{ type: 'tool-call', toolCallId: `call_${turn}`, toolName, input: JSON.stringify(args) }]
    return { content, finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] }
  },
})
