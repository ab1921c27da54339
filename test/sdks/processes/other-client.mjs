// A plain agent of its own loop on a client of another provider.
const [name, baseURL] = process.argv.slice(2)
const { default: Client } = await import(name)
const client = new Client({ apiKey: 'none', baseURL, maxRetries: 0, warmTCPConnection: false })
const tools = [{ type: 'function', function: { name: 'wipe', description: 'Wipes.', parameters: {} } }]
const messages = [{ role: 'user', content: 'Clean up.' }]
for (;;) {
  const { choices } = await client.chat.completions.create({ model: 'scripted', messages, tools })
  const [{ message }] = choices
  messages.push(message)
  if (!message.tool_calls) break
  for (const { id } of message.tool_calls) messages.push({ role: 'tool', tool_call_id: id, content: 'wiped' })
}
console.log(messages.at(-1).content)
let text = ''
const asked = [{ role: 'user', content: 'Something else.' }]
const stream = await client.chat.completions.create({ model: 'scripted', messages: asked, stream: true })
for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
console.log(text)
