import OpenAI from 'openai'

const client = new OpenAI()
const request = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Where is order 7?' }] }
await client.chat.completions.create(request)
await client.withOptions({ timeout: 5_000 }).chat.completions.create(request)
