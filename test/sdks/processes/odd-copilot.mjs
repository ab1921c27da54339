import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CopilotClient, defineTool } from '@github/copilot-sdk'
import { each, frozen } from '../../register/processes/odd-cases.mjs'

const home = mkdtempSync(join(tmpdir(), 'hookspan-copilot-'))
const options = { baseDirectory: home, workingDirectory: home, useLoggedInUser: false }
const wipe = () =>
  defineTool('wipe', {
    description: 'Wipes.',
    parameters: { type: 'object', properties: { what: { type: 'string' } } },
    handler: () => {
      console.log('  wiped')
      return 'wiped'
    },
  })
const configOf = (more = {}) => ({
  model: 'scripted',
  provider: { type: 'openai', baseUrl: process.env.OPENAI_BASE_URL, apiKey: 'none', wireApi: 'completions' },
  tools: [wipe()],
  onPermissionRequest: () => ({ kind: 'approve-once' }),
  ...more,
})
async function ask(client = new CopilotClient(options), config = configOf()) {
  const session = await client.createSession(config)
  const reply = await session.sendAndWait('Clean up.')
  await session.disconnect()
  await client.stop()
  return reply.data.content
}
class LockedClient extends CopilotClient {
  constructor(...args) {
    super(...args)
    Object.defineProperty(this, 'createSession', { value: this.createSession.bind(this) })
  }
}
await each({
  plain: () => ask(),
  'frozen tool': () => ask(undefined, configOf({ tools: [frozen(wipe())] })),
  'frozen config': () => ask(undefined, frozen(configOf())),
  'client whose methods are locked': () => ask(new LockedClient(options)),
  'proxy of a client': () => ask(new Proxy(new CopilotClient(options), {})),
})
