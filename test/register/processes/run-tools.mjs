import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none' })
const wipe = {
  type: 'function',
  function: {
    name: 'wipe',
    description: 'Wipes.',
    parameters: { type: 'object', properties: { what: { type: 'string' } } },
    parse: JSON.parse,
    function: async ({ what }) => {
      console.log(`${what} is wiped`)
      return 'wiped'
    },
  },
}
const runner = client.chat.completions.runTools({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Clean up.' }],
  tools: [wipe],
})
console.log(await runner.finalContent())
