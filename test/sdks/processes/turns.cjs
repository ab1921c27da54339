const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }

/** A model that has its tool called, and is done. */
exports.scriptedTurns = (toolName = 'wipe', input = '{"what":"all"}') => {
  const call = { type: 'tool-call', toolCallId: '1', toolName, input }
  const turns = [
    { content: [call], finishReason: { unified: 'tool-calls', raw: 'tool_calls' } },
    { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop', raw: 'stop' } },
  ]
  const chunksOf = ({ content, finishReason }) => [
    { type: 'stream-start', warnings: [] },
    ...content.flatMap((part) =>
      part.type === 'text'
        ? [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: part.text },
            { type: 'text-end', id: '1' },
          ]
        : [part],
    ),
    { type: 'finish', finishReason, usage },
  ]
  return {
    doGenerate: async () => ({ ...turns.shift(), usage, warnings: [] }),
    doStream: async () => ({ stream: ReadableStream.from(chunksOf(turns.shift())) }),
  }
}
