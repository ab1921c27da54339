import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, LogLevel, setLogLevel } from '@google/adk'
import { each, frozen } from '../../register/processes/odd-cases.mjs'

setLogLevel(LogLevel.ERROR)
class Scripted extends BaseLlm {
  turns = [[{ functionCall: { id: '1', name: 'wipe', args: { what: 'all' } } }], [{ text: 'done' }]]
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: this.turns.shift() ?? [] } }
  }
}
const says = () => new Scripted({ model: 'scripted' })
const wipe = () =>
  new FunctionTool({
    name: 'wipe',
    description: 'Wipes.',
    parameters: { type: 'object', properties: { what: { type: 'string' } } },
    execute: () => {
      console.log('  wiped')
      return 'wiped'
    },
  })
const agentOf = (more = {}) => new LlmAgent({ name: 'cleaner', model: says(), tools: [wipe()], ...more })
const ask = async (agent = agentOf(), by = (given) => given, Made = InMemoryRunner) => {
  const runner = by(new Made({ agent, appName: 'app' }))
  const newMessage = { role: 'user', parts: [{ text: 'Clean up.' }] }
  let said = ''
  for await (const { content } of runner.runEphemeral({ userId: 'u', newMessage })) {
    for (const { text } of content?.parts ?? []) said += text ?? ''
  }
  return said
}
class PrivateRunner extends InMemoryRunner {
  #own() {}
  runEphemeral(...args) {
    this.#own()
    return super.runEphemeral(...args)
  }
}
class FrozenRunner extends InMemoryRunner {
  constructor(...args) {
    super(...args)
    frozen(this.pluginManager)
    frozen(this)
  }
}
await each({
  plain: () => ask(),
  'frozen runner': () => ask(agentOf(), frozen),
  'frozen agent': () => ask(frozen(agentOf())),
  'frozen tool': () => ask(agentOf({ tools: [frozen(wipe())] })),
  'frozen model': () => ask(agentOf({ model: frozen(says()) })),
  'runner with private methods': () => ask(agentOf(), undefined, PrivateRunner),
  'runner frozen in its constructor': () => ask(agentOf(), undefined, FrozenRunner),
  'proxy of a runner': () => ask(agentOf(), (runner) => new Proxy(runner, {})),
})
