import { GoogleGenAI } from '@google/genai'
import { each, frozen } from './odd-cases.mjs'

const wipe = () => ({
  tool: async () => ({ functionDeclarations: [{ name: 'wipe' }] }),
  callTool: async () => {
    console.log('  wiped')
    return [{ functionResponse: { name: 'wipe', response: { output: 'wiped' } } }]
  },
})
const ask = async ({ models }, tools = []) =>
  (await models.generateContent({ model: 'gemini-2.5-flash', contents: 'Clean up.', config: { tools } })).text
const hi = async ({ models }) =>
  (await models.generateContent({ model: 'gemini-2.5-flash', contents: 'hi' })).text
const client = () => new GoogleGenAI({ apiKey: 'none' })
class Private extends GoogleGenAI {
  #secret = 'x'
  constructor(options) {
    super(options)
    frozen(this.models)
    frozen(this)
  }
  get secret() {
    return this.#secret
  }
}
await each({
  plain: () => hi(client()),
  'with a tool': () => ask(client(), [wipe()]),
  'frozen tool': () => ask(client(), [frozen(wipe())]),
  'frozen client': () => hi(frozen(client())),
  'frozen models, later': () => {
    const one = client()
    frozen(one.models)
    return hi(one)
  },
  'frozen in its constructor': () => hi(new Private({ apiKey: 'none' })),
  'proxy of a client': () => hi(new Proxy(client(), {})),
})
