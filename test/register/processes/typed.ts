// TypeScript that Node by itself does not run: `./typed-answer.js` is `./typed-answer.ts`.
import { generateText } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { type Answer, answerOf } from './typed-answer.js'

const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'hello' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: 1, reasoning: undefined },
    },
    warnings: [],
  }),
})
const { text } = await generateText({ model, prompt: 'hi' })
const answer: Answer = await answerOf(text)
console.log(answer.said)
