/** Three lines on top of an `openai` client that is there already: its calls become events and spans. */
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { startTracing } from 'hookspan/tracing'
import OpenAI from 'openai'

// A scripted model, so that this runs without a key. Take it out to talk to the real one.
const fetch = scriptedFetch({ steps: [{ content: 'Hello!', usage: { inputTokens: 9, outputTokens: 2 } }] })
const openai = new OpenAI({ apiKey: 'none', fetch })

// The three lines.
const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ serviceName: 'my-app' }))
const client = observeOpenAI(openai, { dispatcher })

// What they give: every call is an event and a span.
dispatcher.use({
  name: 'tokens',
  hooks: [{ id: 'count', type: 'afterLlmCall', handler: (event) => console.log(event.model, event.usage) }],
})
const reply = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Say hello.' }],
})
console.log(reply.choices[0]?.message.content)
