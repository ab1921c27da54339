import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'

const wipe = tool({
  name: 'wipe',
  description: 'Wipes.',
  inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
  callback: ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
})
const clientConfig = { baseURL: process.env.OPENAI_BASE_URL }
const model = new OpenAIModel({ modelId: 'scripted', apiKey: 'none', clientConfig })
const agent = new Agent({ name: 'cleaner', model, tools: [wipe], printer: false })
const { lastMessage } = await agent.invoke('Clean up.')
console.log(lastMessage.content.map(({ text }) => text).join(''))
