import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CopilotClient, defineTool } from '@github/copilot-sdk'
import { HookDispatcher } from 'hookspan'
import { observeCopilot } from 'hookspan/copilot'

const dispatcher = new HookDispatcher()
const handler = (event) => console.log(`heard ${event.hookType} ${event.apiName}`)
dispatcher.use({ name: 'own', hooks: [{ id: 'own', type: 'beforeToolCall', handler }] })
const home = mkdtempSync(join(tmpdir(), 'hookspan-copilot-'))
const options = { baseDirectory: home, workingDirectory: home, useLoggedInUser: false }
const client = observeCopilot(new CopilotClient(options), { dispatcher })
const wipe = defineTool('wipe', {
  description: 'Wipes.',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  handler: () => 'wiped',
})
const session = await client.createSession({
  model: 'scripted',
  provider: { type: 'openai', baseUrl: process.env.OPENAI_BASE_URL, apiKey: 'none', wireApi: 'completions' },
  tools: [wipe],
  onPermissionRequest: () => ({ kind: 'approve-once' }),
})
const reply = await session.sendAndWait('Clean up.')
console.log(reply.data.content)
await session.disconnect()
await client.stop()
