import { findPackageJSON } from 'node:module'
import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'

/** As runners of TypeScript load what they have found by themselves (jiti, vite-node). */
const { createAgent, tool } = await import(
  new URL('dist/index.js', `file://${findPackageJSON('langchain', import.meta.url)}`)
)

const weather = tool(({ city }) => `It's always sunny in ${city}!`, {
  name: 'get_weather',
  description: 'Get the weather for a given city',
  schema: { type: 'object', properties: { city: { type: 'string' } } },
})
const toolCall = { id: 'c', name: 'get_weather', args: { city: 'Tokyo' }, type: 'tool_call' }
const model = fakeModel()
  .respond(new AIMessage({ content: '', tool_calls: [toolCall] }))
  .respond(new AIMessage('sunny'))
const agent = createAgent({ model, tools: [weather] })
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: "What's the weather?" }] })
console.log(messages.at(-1).text)
