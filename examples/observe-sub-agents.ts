/** Who called whom, what they were asked, and what came of it. */
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'

const fetch = scriptedFetch({
  steps: [
    {
      toolCalls: [{ id: 'call_1', name: 'researcher', arguments: { instruction: 'Find the release date.' } }],
    },
    { content: 'It was released in March.' },
    { content: 'The release was in March.' },
  ],
})
const client = new OpenAI({ apiKey: 'none', fetch })

const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'org-chart',
  hooks: [
    {
      id: 'call',
      type: 'beforeCallAgent',
      handler: (event) => console.log(`-> ${event.agentName}: ${event.instruction}`),
    },
    {
      id: 'back',
      type: 'afterCallAgent',
      handler: (event) => console.log(`<- ${event.agentName}: ${event.content}`),
    },
  ],
})

const run = await execAgent({
  client,
  dispatcher,
  agent: {
    name: 'editor',
    model: 'gpt-4o',
    subAgents: [{ name: 'researcher', model: 'gpt-4o-mini', instructions: 'You look things up.' }],
  },
  prompt: 'When was it released?',
})
console.log(run.content)
