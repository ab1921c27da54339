// What goes on with a conversation says its id, or that of the reply before; the messages alone would not tell.
import OpenAI from 'openai'

const client = new OpenAI()
const ask = (input, more) => client.responses.create({ model: 'gpt-4o', input, ...more })
const [first] = await Promise.all([
  ask('Where is order 7?', { conversation: 'conv_7' }),
  ask('Where is order 8?', { conversation: { id: 'conv_8' } }),
])
await ask('And its invoice?', { conversation: 'conv_7' })
const alone = await ask('Where is order 9?')
await ask('And its invoice?', { previous_response_id: alone.id })
console.log(first.output_text)
