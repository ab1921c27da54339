// What looks like a model asked past all that is attached, and is none.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import OpenAI from 'openai'

const url = `${process.env.OPENAI_BASE_URL}/chat/completions`
const ask = (options) =>
  new OpenAI(options).chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Where is order 7?' }],
  })

const ways = {
  // Of a service for short messages.
  async messages() {
    const { origin } = new URL(url)
    await fetch(`${origin}/v1/messages`, { method: 'POST', body: JSON.stringify({ to: '1', text: 'Hi' }) })
  },
  async image() {
    const { origin } = new URL(url)
    const path = '/v1beta/models/gemini-2.5-flash-image:generateContent'
    await fetch(origin + path, { method: 'POST', body: '{}' })
  },
  async queue() {
    const waiting = []
    const timer = setInterval(() => waiting.shift()?.(), 5)
    await ask({
      fetch: (...args) => new Promise((resolve) => waiting.push(() => resolve(fetch(...args)))),
    })
    clearInterval(timer)
  },
  async relay() {
    const relay = createServer(async (request, response) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(url, { method: 'POST', headers, body: await text(request) })
      response.setHeader('content-type', 'application/json').end(await answer.text())
    })
    await new Promise((resolve) => relay.listen(0, resolve))
    await ask({ baseURL: `http://127.0.0.1:${relay.address().port}/v1` })
    relay.close()
  },
}
await ways[process.argv[2]]()
console.log('done')
