import OpenAI from 'openai'
import { each, frozen } from './odd-cases.mjs'

const ask = async (client) => {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'hi' }],
  })
  return choices[0].message.content
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
  'client behind a proxy that binds': () => {
    const client = new OpenAI()
    return ask(new Proxy({}, { get: (_, key) => client[key] }))
  },
})
