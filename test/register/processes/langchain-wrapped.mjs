// An agent with a middleware that wraps tools, as each of deepagents: LangChain ends its run where a tool throws.
import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { createAgent, createMiddleware, tool } from 'langchain'

const broken = tool(
  () => {
    throw new Error('no such place')
  },
  { name: 'get_weather', description: 'Tells the weather.', schema: { type: 'object', properties: {} } },
)
const tool_calls = [{ name: 'get_weather', args: {}, id: 'c', type: 'tool_call' }]
const model = fakeModel()
  .respond(new AIMessage({ content: '', tool_calls }))
  .respond(new AIMessage('sunny'))
const wrapping = createMiddleware({ name: 'wrapping', wrapToolCall: (request, handler) => handler(request) })
const agent = createAgent({ model, tools: [broken], middleware: [wrapping] })
await agent.invoke({ messages: [{ role: 'user', content: 'How is it there?' }] }).then(
  ({ messages }) => console.log(messages.at(-1).text),
  ({ message }) => console.log(message),
)
