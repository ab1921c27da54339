import { Agent, handoff, Runner, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { each, frozen } from './odd-cases.mjs'

const wipe = (more = {}) =>
  tool({
    name: 'wipe',
    description: 'Wipes.',
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    strict: false,
    execute: () => {
      console.log('  wiped')
      return 'wiped'
    },
    ...more,
  })
const says = (name = 'wipe', Class = ScriptedModel) =>
  new Class([[functionCall(name, {}, { callId: '1' })], [assistantMessage('done')]])
const agentOf = (more = {}) => new Agent({ name: 'cleaner', model: says(), tools: [wipe()], ...more })
const runner = (more = {}) => new Runner({ tracingDisabled: true, ...more })
const ask = async (agent = agentOf(), by = runner(), options = {}) =>
  (await by.run(agent, 'Clean up.', options)).finalOutput

class PrivateModel extends ScriptedModel {
  #own() {}
  async getResponse(request) {
    this.#own()
    return super.getResponse(request)
  }
}
class GetterModel {
  #inner = says()
  get getResponse() {
    return (request) => this.#inner.getResponse(request)
  }
  get getStreamedResponse() {
    return (request) => this.#inner.getStreamedResponse(request)
  }
}
class PrivateAgent extends Agent {
  #own() {}
  async getAllTools(context) {
    this.#own()
    return super.getAllTools(context)
  }
}
class PrivateRunner extends Runner {
  #own() {}
  async run(...args) {
    this.#own()
    return super.run(...args)
  }
}
const locked = (object, key) =>
  Object.defineProperty(object, key, { value: object[key], configurable: false, writable: false })

await each({
  plain: () => ask(),
  'frozen tool': () => ask(agentOf({ tools: [frozen(wipe())] })),
  'sealed tool': () => ask(agentOf({ tools: [Object.seal(wipe())] })),
  'locked tool': () => ask(agentOf({ tools: [locked(wipe(), 'invoke')] })),
  'proxy of a tool': () => ask(agentOf({ tools: [new Proxy(wipe(), {})] })),
  'proxy of a frozen tool': () => ask(agentOf({ tools: [new Proxy(frozen(wipe()), {})] })),
  'frozen sub-agent as tool': () =>
    ask(
      agentOf({
        tools: [frozen(agentOf({ name: 'wiper' }).asTool({ toolName: 'wipe', toolDescription: 'W' }))],
      }),
    ),
  'frozen model': () => ask(agentOf({ model: frozen(says()) })),
  'frozen model, streamed': async () => {
    const result = await runner().run(agentOf({ model: frozen(says()) }), 'hi', { stream: true })
    await result.completed
    return result.finalOutput
  },
  'model with private methods': () => ask(agentOf({ model: says('wipe', PrivateModel) })),
  'model with getters': () => ask(agentOf({ model: new GetterModel() })),
  'frozen model with getters': () => ask(agentOf({ model: frozen(new GetterModel()) })),
  'proxy of a model': () => ask(agentOf({ model: new Proxy(says(), {}) })),
  'frozen provider': () => {
    const model = says()
    return ask(agentOf({ model: undefined }), runner({ modelProvider: frozen({ getModel: () => model }) }))
  },
  'frozen agent': () => ask(frozen(agentOf())),
  'agent with private methods': () =>
    ask(new PrivateAgent({ name: 'cleaner', model: says(), tools: [wipe()] })),
  'frozen runner': () => ask(agentOf(), frozen(runner())),
  'runner with private methods': () => ask(agentOf(), new PrivateRunner({ tracingDisabled: true })),
  'frozen handoff': () => {
    const second = agentOf({ name: 'second', model: new ScriptedModel([[assistantMessage('handed')]]) })
    return ask(agentOf({ model: says('transfer_to_second'), handoffs: [frozen(handoff(second))] }))
  },
})
