const { generateText } = require('ai')
const { MockLanguageModelV4 } = require('ai/test')

const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'hello' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    warnings: [],
  }),
})
generateText({ model, prompt: 'hi' }).then(({ text }) => console.log(text))
