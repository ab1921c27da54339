// Loads the SDK when the first request comes, and not before.
const { createServer } = require('node:http')

async function answer(_request, response) {
  const { default: OpenAI } = require('openai')
  const messages = [{ role: 'user', content: 'Where is order 7?' }]
  const { choices } = await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
  response.end(choices[0].message.content)
}

const server = createServer(answer).listen(0, '127.0.0.1', async () => {
  for (const path of ['a', 'b']) {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/${path}`)
    console.log(await response.text())
  }
  server.close()
})
