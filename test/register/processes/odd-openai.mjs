import OpenAI from 'openai'
import { each, frozen } from './odd-cases.mjs'

const ask = async (client) => {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'hi' }],
  })
  return choices[0].message.content
}
const run = (client) => {
  const wipe = { name: 'wipe', description: '', parameters: {}, function: (text) => `wiped ${text}` }
  const tools = [Object.freeze({ type: 'function', function: Object.freeze(wipe) })]
  const messages = [{ role: 'user', content: 'Clean up.' }]
  return client.chat.completions.runTools({ model: 'gpt-4o', messages, tools }).finalContent()
}
class PrivateClient extends OpenAI {
  #own() {}
  post(path, options) {
    this.#own()
    return super.post(path, options)
  }
}
class GetterClient extends OpenAI {
  get post() {
    return (path, options) => super.post(path, options)
  }
}
await each({
  plain: () => ask(new OpenAI()),
  'frozen client': () => ask(frozen(new OpenAI())),
  'frozen client, twice': async () => {
    const client = frozen(new OpenAI())
    await ask(client)
    return ask(client)
  },
  'frozen client, with options': () => ask(frozen(new OpenAI()).withOptions({ maxRetries: 1 })),
  'sealed client': () => ask(Object.seal(new OpenAI())),
  'client with private methods': () => ask(new PrivateClient()),
  'client with getters': () => ask(new GetterClient()),
  'proxy of a client': () => ask(new Proxy(new OpenAI(), {})),
  'proxy of a frozen client': () => ask(new Proxy(frozen(new OpenAI()), {})),
  'tool runner, frozen tool': () => run(new OpenAI()),
  'tool runner, frozen client': () => run(frozen(new OpenAI())),
  'tool runner, proxy of a client': () => run(new Proxy(new OpenAI(), {})),
  'tool runner, frozen chat': () => {
    const client = new OpenAI()
    Object.freeze(client.chat.completions)
    return run(client)
  },
  'client behind a proxy that binds': () => {
    const client = new OpenAI()
    return ask(new Proxy({}, { get: (_, key) => client[key] }))
  },
})
