const OpenAI = require('openai')

async function main() {
  const client = new OpenAI()
  const messages = [{ role: 'user', content: 'Where is order 7?' }]
  const { choices } = await client.chat.completions.create({ model: 'gpt-4o', messages })
  console.log(choices[0].message.content)
}
main()
