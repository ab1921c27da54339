/** Who calls whom, and what comes back. */
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { callTool, scriptedModel } from 'hookspan/mock'

const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'org-chart',
  hooks: [
    { id: 'call', type: 'beforeCallAgent', handler: (e) => console.log('->', e.agentName, e.instruction) },
    { id: 'back', type: 'afterCallAgent', handler: (e) => console.log('<-', e.agentName, e.content) },
  ],
})

// A scripted model, so that this runs without a key: `client: new OpenAI()` asks the real one.
const client = scriptedModel([
  callTool('researcher', { instruction: 'Find the release date.' }),
  'It was released in March.',
  'The release was in March.',
])
const subAgents = [{ name: 'researcher', model: 'gpt-4o-mini', instructions: 'You look things up.' }]
const agent = { name: 'editor', model: 'gpt-4o', subAgents }
const run = await execAgent({ agent, prompt: 'When was it released?', client, dispatcher })
console.log(run.content)
