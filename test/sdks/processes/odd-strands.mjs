import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { each, frozen } from '../../register/processes/odd-cases.mjs'

const wipe = () =>
  tool({
    name: 'wipe',
    description: 'Wipes.',
    inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
    callback: () => {
      console.log('  wiped')
      return 'wiped'
    },
  })
const clientConfig = { baseURL: process.env.OPENAI_BASE_URL }
const says = () => new OpenAIModel({ modelId: 'scripted', apiKey: 'none', clientConfig })
const configOf = (more = {}) => ({ name: 'cleaner', model: says(), tools: [wipe()], printer: false, ...more })
const ask = async (agent) =>
  (await agent.invoke('Clean up.')).lastMessage.content.map(({ text }) => text).join('')
class PrivateAgent extends Agent {
  #own() {}
  async *stream(...args) {
    this.#own()
    return yield* super.stream(...args)
  }
}
await each({
  plain: () => ask(new Agent(configOf())),
  'frozen agent': () => ask(frozen(new Agent(configOf()))),
  'sealed agent': () => ask(Object.seal(new Agent(configOf()))),
  'frozen tool': () => ask(new Agent(configOf({ tools: [frozen(wipe())] }))),
  'frozen config': () => ask(new Agent(frozen(configOf()))),
  'frozen model': () => ask(new Agent(configOf({ model: frozen(says()) }))),
  'agent with private methods': () => ask(new PrivateAgent(configOf())),
  'proxy of an agent': () => ask(new Proxy(new Agent(configOf()), {})),
  'proxy of a model': () => ask(new Agent(configOf({ model: new Proxy(says(), {}) }))),
})
