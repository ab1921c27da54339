import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { DynamicStructuredTool } from '@langchain/core/tools'
import { createAgent, createMiddleware, tool } from 'langchain'
import { each, frozen } from './odd-cases.mjs'

const call = { id: 'c', name: 'wipe', args: {}, type: 'tool_call' }
const says = () =>
  fakeModel()
    .respond(new AIMessage({ content: '', tool_calls: [call] }))
    .respond(new AIMessage('done'))
const schema = { type: 'object', properties: {} }
const body = () => {
  console.log('  wiped')
  return 'wiped'
}
const wipe = () => tool(body, { name: 'wipe', description: 'Wipes.', schema })
class PrivateTool extends DynamicStructuredTool {
  #own() {}
  async _call(...args) {
    this.#own()
    return super._call(...args)
  }
}
const ask = async (model = says(), tools = [wipe()], more = {}) => {
  const agent = createAgent({ model, tools, ...more })
  return (await agent.invoke({ messages: [{ role: 'user', content: 'hi' }] })).messages.at(-1).text
}
await each({
  plain: () => ask(),
  'frozen tool': () => ask(says(), [frozen(wipe())]),
  'tool with private methods': () =>
    ask(says(), [new PrivateTool({ name: 'wipe', description: 'W', schema, func: body })]),
  'proxy of a tool': () => ask(says(), [new Proxy(wipe(), {})]),
  'frozen model': () => ask(frozen(says())),
  'proxy of a model': () => ask(new Proxy(says(), {})),
  'frozen middleware': () =>
    ask(says(), [wipe()], { middleware: frozen([frozen(createMiddleware({ name: 'own' }))]) }),
  'frozen params': async () => {
    const agent = createAgent(frozen({ model: says(), tools: frozen([wipe()]) }))
    return (await agent.invoke({ messages: [{ role: 'user', content: 'hi' }] })).messages.at(-1).text
  },
  'frozen agent': async () => {
    const agent = frozen(createAgent({ model: says(), tools: [wipe()] }))
    return (await agent.invoke({ messages: [{ role: 'user', content: 'hi' }] })).messages.at(-1).text
  },
})
