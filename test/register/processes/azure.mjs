import { AzureOpenAI } from 'openai/azure'

const client = new AzureOpenAI({ apiKey: 'none', apiVersion: '2024-10-21', deployment: 'gpt-4o' })
const { choices } = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Hello.' }],
})
console.log(choices[0].message.content)
