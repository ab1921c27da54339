/** A model of the AI SDK that says what it is told to say: texts and tool calls, one after the other. */
import { MockLanguageModelV4 } from 'ai/test'

type Said = string | { readonly tool: string; readonly input: object }

export function scripted(said: readonly Said[]): MockLanguageModelV4 {
  const left = [...said]
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const next = left.shift()
      if (next === undefined) throw new Error('Nothing is left to say.')
      const usage = {
        inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      }
      if (typeof next === 'string') {
        const finishReason = { unified: 'stop' as const, raw: 'stop' }
        return { content: [{ type: 'text', text: next }], finishReason, usage, warnings: [] }
      }
      const toolCallId = `call_${said.length - left.length}`
      const input = JSON.stringify(next.input)
      return {
        content: [{ type: 'tool-call', toolCallId, toolName: next.tool, input }],
        finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
        usage,
        warnings: [],
      }
    },
  })
}
