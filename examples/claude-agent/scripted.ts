/** Claude, played by a server on this machine: the SDK's own Claude Code asks it, and it says what it is told to say. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type ScriptedStep, startScriptedServer } from 'hookspan/mock'

export async function scripted(
  steps: readonly ScriptedStep[],
  home = mkdtempSync(`${tmpdir()}/hookspan-claude-`),
) {
  const server = await startScriptedServer({ steps })
  const options = {
    model: 'scripted',
    cwd: home,
    // Nothing of whoever runs this: no settings, no login, no network.
    settingSources: [],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: home,
      ANTHROPIC_BASE_URL: server.baseURL.replace(/\/v1$/, ''),
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  }
  return { options, close: () => server.close() }
}
