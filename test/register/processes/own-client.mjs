// A program that observes its client by itself, before its first request.
import { HookDispatcher } from 'hookspan'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'

const dispatcher = new HookDispatcher()
const handler = () => console.log('told')
dispatcher.use({ name: 'own', hooks: [{ id: 'own', type: 'beforeLlmCall', handler }] })
const client = observeOpenAI(new OpenAI(), { dispatcher })
await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
