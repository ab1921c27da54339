// A plain agent of its own loop: nothing of hookspan in it.
import OpenAI from 'openai'

const client = new OpenAI()
const messages = [{ role: 'user', content: 'Where is order 7?' }]
for (const more of ['And order 8?', undefined]) {
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o', messages })
  console.log(choices[0].message.content)
  messages.push(choices[0].message)
  if (more !== undefined) messages.push({ role: 'user', content: more })
}
const other = [{ role: 'user', content: 'Something else.' }]
await client.chat.completions.create({ model: 'gpt-4o', messages: other })
if (process.argv[2] !== undefined) process.exit(Number(process.argv[2]))
