import { createServer } from 'node:http'
import OpenAI from 'openai'

const client = new OpenAI()
const server = createServer(async (request, response) => {
  const ask = (content) =>
    client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content }] })
  const replies = await Promise.all([ask(`one of ${request.url}`), ask(`two of ${request.url}`)])
  response.end(replies.map(({ choices }) => choices[0].message.content).join())
})
server.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}`
  await Promise.all(['/a', '/b?id=7'].map((path) => fetch(url + path).then((answer) => answer.text())))
  server.close()
  server.closeAllConnections()
})
