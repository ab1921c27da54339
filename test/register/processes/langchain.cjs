const { AIMessage } = require('@langchain/core/messages')
const { fakeModel } = require('@langchain/core/testing')
const { createAgent, tool } = require('langchain')

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
agent.invoke(input).then(({ messages }) => console.log(messages.at(-1).text))
