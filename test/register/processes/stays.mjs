// Answers once, and waits for ever.
import OpenAI from 'openai'

const messages = [{ role: 'user', content: 'Where is order 7?' }]
const { choices } = await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
console.log(choices[0].message.content)
setInterval(() => {}, 1_000)
