// Loads a project's skill under a gate on shells, or under none, and says what was told of tools.

import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { HookDispatcher } from 'hookspan'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { toolPolicy } from 'hookspan/policies'

const [, , cwd, prompt, ...denied] = process.argv
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
for await (const { type, result } of query({ prompt, options }))
  if (type === 'result') process.exitCode = result === 'done' ? 0 : 1
await dispatcher.drain()
console.log(JSON.stringify(told))
