import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

// As @langchain/anthropic: it brings an SDK of its own, of a version that hookspan does not know.
const { default: OpenAI } = await import(process.argv[2])
const client = new OpenAI({ apiKey: 'none' })
const ask = (content, tools) =>
  client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content }], tools })

class Model extends BaseChatModel {
  _llmType() {
    return 'brought'
  }
  bindTools() {
    return this
  }
  async _generate(messages) {
    const said = messages.some(({ type }) => type === 'tool') ? 'Hello.' : 'Clean up.'
    const { choices } = await ask(said)
    const { content, tool_calls = [] } = choices[0].message
    const calls = tool_calls.map(({ id, function: { name, arguments: text } }) => ({
      ...{ id, name, args: JSON.parse(text) },
    }))
    return { generations: [{ message: new AIMessage({ content: content ?? '', tool_calls: calls }) }] }
  }
}
const wipe = tool(
  ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
  { name: 'wipe', description: 'Wipes.', schema: z.object({ what: z.string() }) },
)
const agent = createAgent({ model: new Model({}), tools: [wipe] })
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Go.' }] })
console.log(messages.at(-1).text)
const { choices } = await ask('Hello.')
console.log(choices[0].message.content)
