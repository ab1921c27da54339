// An agent that searches on and on, until its own limit ends it.
import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { createAgent, tool } from 'langchain'

const search = tool(({ q }) => `found ${q}`, {
  name: 'search',
  description: 'Searches.',
  schema: { type: 'object', properties: { q: { type: 'string' } } },
})
const model = fakeModel()
for (let call = 0; call < 9; call++) {
  const tool_calls = [{ name: 'search', args: { q: 'a' }, id: `c${call}`, type: 'tool_call' }]
  model.respond(new AIMessage({ content: '', tool_calls }))
}
// As deepagents do: the agent of a factory, configured once more.
const agent = createAgent({ model, tools: [search] }).withConfig({ recursionLimit: 5 })
await agent
  .invoke({ messages: [{ role: 'user', content: 'Search.' }] })
  .catch(({ name }) => console.log(name))
