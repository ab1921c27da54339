/** A model of the AI SDK that says what it is told to say: texts and tool calls, one after the other. */
import { MockLanguageModelV4 } from 'ai/test'

type Said = string | { readonly tool: string; readonly input: object }

export function scripted(said: readonly Said[]): MockLanguageModelV4 {
  const left = [...said]
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    // The same in one piece.
    doStream: async () => {
      const { content, finishReason, usage } = await model.doGenerate({ prompt: [] })
      const parts = content.flatMap((part): object[] => {
        if (part.type !== 'text') return [part]
        const delta = { type: 'text-delta', id: '1', delta: part.text }
        return [{ type: 'text-start', id: '1' }, delta, { type: 'text-end', id: '1' }]
      })
      return { stream: ReadableStream.from([...parts, { type: 'finish', finishReason, usage }]) as never }
    },
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
  return model
}
