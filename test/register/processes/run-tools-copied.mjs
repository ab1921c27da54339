// Wraps the client as tracers of other vendors do: a copy of it, and of the resource whose calls it tells.
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none' })
const { completions } = client.chat
const copy = Object.assign(Object.create(Object.getPrototypeOf(completions)), completions)
copy.create = completions.create.bind(completions)
const wrapped = { ...client, chat: { ...client.chat, completions: copy } }
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
const runner = wrapped.chat.completions.runTools({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Clean up.' }],
  tools: [wipe],
})
console.log(await runner.finalContent())
