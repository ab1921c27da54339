import Anthropic from '@anthropic-ai/sdk'
import { each, frozen } from './odd-cases.mjs'

const options = { apiKey: 'none' }
const asked = {
  model: 'claude-opus-4-6',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Clean up.' }],
}
const text = ({ content }) => content.map(({ text }) => text).join('')
const ask = async (client) =>
  text(await client.messages.create({ ...asked, messages: [{ role: 'user', content: 'hi' }] }))
const wipe = () => ({
  name: 'wipe',
  input_schema: { type: 'object', properties: { what: { type: 'string' } } },
  run: async () => {
    console.log('  wiped')
    return 'wiped'
  },
})
const runTools = async (client, tool = wipe()) =>
  text(await client.beta.messages.toolRunner({ ...asked, tools: [tool] }))
class PrivateClient extends Anthropic {
  #own() {}
  post(path, options) {
    this.#own()
    return super.post(path, options)
  }
}
await each({
  plain: () => ask(new Anthropic(options)),
  'frozen client': () => ask(frozen(new Anthropic(options))),
  'frozen messages': () => {
    const client = new Anthropic(options)
    frozen(client.messages)
    return ask(client)
  },
  'sealed client': () => ask(Object.seal(new Anthropic(options))),
  'client with private methods': () => ask(new PrivateClient(options)),
  'proxy of a client': () => ask(new Proxy(new Anthropic(options), {})),
  'proxy of a frozen client': () => ask(new Proxy(frozen(new Anthropic(options)), {})),
  'tool runner': () => runTools(new Anthropic(options)),
  'tool runner, frozen tool': () => runTools(new Anthropic(options), frozen(wipe())),
  'tool runner, frozen client': () => runTools(frozen(new Anthropic(options))),
  'tool runner, frozen beta': () => {
    const client = new Anthropic(options)
    frozen(client.beta)
    frozen(client.beta.messages)
    return runTools(client)
  },
})
