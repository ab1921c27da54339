// Loads a project's skill under a gate on shells, or under none, and says what was told of tools.

import { HookDispatcher } from 'hookspan'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { toolPolicy } from 'hookspan/policies'

const [, , cwd, prompt, ...denied] = process.argv
// Another copy of the SDK than the one that is found from here.
const sdk = await import(process.env.SDK_COPY ?? '@anthropic-ai/claude-agent-sdk')
const told = []
const dispatcher = new HookDispatcher()
const handler = ({ apiName, args, success }) => void told.push({ apiName, command: args.command, success })
dispatcher.use({
  name: 'told',
  hooks: [{ id: 'a', type: 'afterToolCall', handler }],
  gates: [toolPolicy({ deny: denied.length > 0 ? denied : ['Write'] })],
})
const query = observeClaudeAgent(sdk.query, { dispatcher })
const options = { cwd, model: 'contract', settingSources: ['project'], allowedTools: ['Skill', 'Bash'] }
const errors = []
async function run() {
  for await (const { type, result } of query({ prompt, options }))
    if (type === 'result') process.exitCode = result === 'done' ? 0 : 1
}
for (let at = 0; at < Number(process.env.RUNS ?? 1); at++) await run().catch(({ code }) => errors.push(code))
await dispatcher.drain()
console.log(JSON.stringify({ told, errors }))
