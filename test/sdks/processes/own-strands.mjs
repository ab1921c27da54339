import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { HookDispatcher } from 'hookspan'
import { observeStrands } from 'hookspan/strands'

const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'own',
  hooks: [
    {
      id: 'own',
      type: 'beforeToolCall',
      handler: (event) => console.log(`heard ${event.hookType} ${event.apiName}`),
    },
  ],
})
const wipe = tool({
  name: 'wipe',
  description: 'Wipes.',
  inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
  callback: () => 'wiped',
})
const clientConfig = { baseURL: process.env.OPENAI_BASE_URL }
const model = new OpenAIModel({ modelId: 'scripted', apiKey: 'none', clientConfig })
const agent = new Agent({ name: 'cleaner', model, tools: [wipe], printer: false })
observeStrands(agent, { dispatcher })
const { lastMessage } = await agent.invoke('Clean up.')
console.log(lastMessage.content.map(({ text }) => text).join(''))
