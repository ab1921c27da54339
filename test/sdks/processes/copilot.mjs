import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CopilotClient, defineTool } from '@github/copilot-sdk'

const home = mkdtempSync(join(tmpdir(), 'hookspan-copilot-'))
const client = new CopilotClient({ baseDirectory: home, workingDirectory: home, useLoggedInUser: false })
const wipe = defineTool('wipe', {
  description: 'Wipes.',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  handler: ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
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
