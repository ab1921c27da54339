import assert from 'node:assert/strict'
import { MockLanguageModelV4 } from 'ai/test'
import { HookDispatcher } from 'hookspan'
import { runOnRestate } from './engine.mjs'

const dispatcher = new HookDispatcher()
const counted = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'Order 7 is on its way.' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: { inputTokens: counted, outputTokens: counted },
    warnings: [],
  }),
})
const tools = {}
snippet('import * as ai')

assert.match(JSON.stringify(await runOnRestate(support, { prompt: 'Where is order 7?' })), /on its way/)
process.exit()
