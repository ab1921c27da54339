// More calls at once than runs are held open for a script.
import OpenAI from 'openai'

const client = new OpenAI()
const ask = (content) =>
  client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content }] })
const answers = await Promise.all(Array.from({ length: 120 }, (_, index) => ask(`Where is order ${index}?`)))
console.log(`${answers.length} answers`)
