import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ apiKey: 'none' })
const wipe = {
  name: 'wipe',
  input_schema: { type: 'object', properties: { what: { type: 'string' } } },
  run: async ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
}
const message = await client.beta.messages.toolRunner({
  model: 'claude-opus-4-6',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Clean up.' }],
  tools: [wipe],
})
console.log(message.content.map(({ text }) => text).join(''))
