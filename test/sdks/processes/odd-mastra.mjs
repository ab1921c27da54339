import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'
import { each, frozen } from '../../register/processes/odd-cases.mjs'
import { scriptedTurns } from './turns.cjs'

const wipe = () =>
  createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ what: z.string() }),
    execute: async () => {
      console.log('  wiped')
      return 'wiped'
    },
  })
const says = () => new MockLanguageModelV4({ modelId: 'scripted', ...scriptedTurns() })
const configOf = (more = {}) => ({
  id: 'cleaner',
  name: 'cleaner',
  instructions: 'Clean.',
  model: says(),
  tools: { wipe: wipe() },
  ...more,
})
const ask = async (agent) => (await agent.generate('Clean up.')).text
class PrivateAgent extends Agent {
  #own() {}
  async generate(...args) {
    this.#own()
    return super.generate(...args)
  }
}
await each({
  plain: () => ask(new Agent(configOf())),
  'frozen agent': () => ask(frozen(new Agent(configOf()))),
  'sealed agent': () => ask(Object.seal(new Agent(configOf()))),
  'frozen tool': () => ask(new Agent(configOf({ tools: { wipe: frozen(wipe()) } }))),
  'frozen config': () => ask(new Agent(frozen(configOf()))),
  'frozen model': () => ask(new Agent(configOf({ model: frozen(says()) }))),
  'agent with private methods': () => ask(new PrivateAgent(configOf())),
  'proxy of a tool': () => ask(new Agent(configOf({ tools: { wipe: new Proxy(wipe(), {}) } }))),
})
