import type { Answer } from './typed-answer.js'

const { generateText } = require('ai') as typeof import('ai')
const { MockLanguageModelV4 } = require('ai/test') as typeof import('ai/test')

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}
const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'hello' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage,
    warnings: [],
  }),
})
generateText({ model, prompt: 'hi' }).then(({ text }) => {
  const answer: Answer = { said: text }
  console.log(answer.said)
})
