// The agent of LangChain's own quickstart, on its test model.
import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { createAgent, tool } from 'langchain'

const weather = tool(({ city }) => `It's always sunny in ${city}!`, {
  name: 'get_weather',
  description: 'Get the weather for a given city',
  schema: { type: 'object', properties: { city: { type: 'string' } } },
})
const model = fakeModel()
  .respond(
    new AIMessage({
      content: '',
      tool_calls: [{ id: 'c', name: 'get_weather', args: { city: 'Tokyo' }, type: 'tool_call' }],
    }),
  )
  .respond(new AIMessage('sunny'))
const agent = createAgent({ model, tools: [weather] })
const input = { messages: [{ role: 'user', content: "What's the weather in Tokyo?" }] }
const { messages } = await agent.invoke(input)
console.log(messages.at(-1).text)
