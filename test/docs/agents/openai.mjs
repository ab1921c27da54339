import OpenAI from 'openai'
import { options } from './model.mjs'

const client = new OpenAI(options)
const say = (text) => {
  console.log('real tool:', text)
  return text
}
const tools = {
  find_order: ({ id }) => say(`order ${id} is shipped`),
  drop_table: ({ name }) => say(`${name} is gone`),
}
const messages = [{ role: 'user', content: 'Where is order 7? Then drop the table.' }]
for (;;) {
  const reply = await client.chat.completions.create({ model: 'gpt-4o', messages })
  const { message } = reply.choices[0]
  messages.push(message)
  if (!message.tool_calls?.length) break
  for (const call of message.tool_calls) {
    const content = await tools[call.function.name](JSON.parse(call.function.arguments))
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
}
for (const { role, content } of messages) if (role === 'tool') console.log(content)
console.log(messages.at(-1).content)
