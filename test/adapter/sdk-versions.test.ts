import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A project in which hookspan is installed beside SDKs of another time. */
let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'hookspan-versions-'))
  const own = join(project, 'node_modules', 'hookspan')
  mkdirSync(own, { recursive: true })
  cpSync(join(ROOT, 'dist'), join(own, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(own, 'package.json'))
  mkdirSync(join(project, 'node_modules', '@opentelemetry'))
  symlinkSync(
    join(ROOT, 'node_modules/@opentelemetry/api'),
    join(project, 'node_modules/@opentelemetry/api'),
    'dir',
  )
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

function install(name: string, version: string, code = ''): void {
  const folder = join(project, 'node_modules', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, main: 'index.js' }))
  writeFileSync(join(folder, 'index.js'), code)
}

async function said(name: string, version: string, code: string, sdk?: string): Promise<string> {
  install(name, version, sdk)
  const begin = `import { HookDispatcher } from 'hookspan'; const dispatcher = new HookDispatcher(); `
  const given = ['--input-type=module', '-e', begin + code]
  const { stderr } = await run(process.execPath, given, { cwd: project })
  return stderr
}

const AI = `import { observeAISDK } from 'hookspan/ai-sdk'
const f = () => {}
observeAISDK({ generateText: f, tool: f, registerTelemetry: f, isStepCount: f }, { dispatcher })
observeAISDK({ generateText: f, tool: f, registerTelemetry: f, isStepCount: f }, { dispatcher })`
const AGENTS = `import { observeAgents } from 'hookspan/openai-agents'
observeAgents({ Runner: class { run() {} } }, { dispatcher })`
const LANGCHAIN = `import { hookspanMiddleware } from 'hookspan/langchain'
hookspanMiddleware({ dispatcher })`
const MCP = (callTool: string) => `import { observeMcpClient } from 'hookspan/mcp'
observeMcpClient({ ${callTool}, _requestHandlers: new Map() }, { dispatcher })`
const STRANDS = `import { observeStrands } from 'hookspan/strands'
const f = () => {}
observeStrands({ stream: f, initialize: f, cancel: f, messages: [], _middlewareRegistry: { invoke: f } }, { dispatcher })`
const ADK = `import { hookspanPlugin } from 'hookspan/google-adk'
hookspanPlugin({ dispatcher })`
const COPILOT = `import { observeCopilot } from 'hookspan/copilot'
const client = { createSession() {}, resumeSession() {} }
observeCopilot(client, { dispatcher })
observeCopilot(client, { dispatcher })`
const CALLBACKS = `import { hookspanCallbacks } from 'hookspan/langchain'
hookspanCallbacks({ dispatcher })`
const MCP_SERVER = (more: string) => `import { observeMcpServer } from 'hookspan/mcp'
observeMcpServer({ ${more}setRequestHandler() {}, _requestHandlers: new Map() }, { dispatcher })`
const MASTRA = `import { observeMastra } from 'hookspan/mastra'
class Agent {}
const methods = ['generate', 'stream', 'resumeGenerate', 'resumeStream', 'convertTools', 'getModel', 'getDefaultOptions']
for (const name of methods) Agent.prototype[name] = () => {}
observeMastra(new Agent(), { dispatcher })
observeMastra(new Agent(), { dispatcher })`
const CLAUDE = `import { observeClaudeAgent } from 'hookspan/claude-agent'
observeClaudeAgent(() => {}, { dispatcher })`

it.each([
  ['ai', '7.0.50', AI],
  ['@openai/agents', '0.21.0', AGENTS],
  ['langchain', '1.4.6', LANGCHAIN],
  ['@strands-agents/sdk', '2.0.0', STRANDS],
  ['@google/adk', '1.9.0', ADK],
  ['@github/copilot-sdk', '2.0.0', COPILOT],
  ['@modelcontextprotocol/server', '3.0.0', MCP_SERVER('_supportedProtocolVersions: [], ')],
  ['@langchain/core', '1.3.0', CALLBACKS],
  ['@mastra/core', '1.40.0', MASTRA],
  ['@anthropic-ai/claude-agent-sdk', '0.4.1', CLAUDE],
  ['@modelcontextprotocol/sdk', '1.20.0', MCP('callTool(params, schema = {}, options) {}')],
  ['@modelcontextprotocol/sdk', '2.1.0', MCP_SERVER('')],
  ['@modelcontextprotocol/client', '3.0.0', MCP('callTool(params, options) {}')],
])('%s %s is attached with one warning that names the version and the range', async (name, version, code) => {
  const stderr = await said(name, version, code)
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(
      new RegExp(`^hookspan was tested with ${name} >=\\S+ <\\S+, and ${version} is installed`),
    ),
  ])
})

const DURABLE = (engine: string) => `import { durableAgent } from 'hookspan/${engine}'
const make = (name) => durableAgent({ name, agent: async () => {}, dispatcher })
make('one'), make('other')`

it.each([
  [
    '@restatedev/restate-sdk',
    '3.0.0',
    'restate',
    'exports.workflow = (definition) => definition; exports.handlers = { workflow: { workflow: (options, run) => run } }',
  ],
  [
    '@dbos-inc/dbos-sdk',
    '4.9.0',
    'dbos',
    'exports.DBOS = { registerWorkflow: (workflow) => workflow, registerLifecycleCallback() {} }',
  ],
  ['@temporalio/activity', '2.0.0', 'temporal', 'exports.Context = {}'],
])('%s %s runs agents durably, after the same warning', async (name, version, engine, sdk) => {
  const stderr = await said(name, version, DURABLE(engine), sdk)
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(
      new RegExp(`^hookspan was tested with ${name} >=\\S+ <\\S+, and ${version} is installed`),
    ),
  ])
})

it('says nothing of a version that was tested, or of an SDK that is not there', async () => {
  expect(await said('ai', '7.0.173', AI)).toBe('')
  rmSync(join(project, 'node_modules', 'langchain'), { recursive: true, force: true })
  expect(await said('ai', '7.0.100', LANGCHAIN)).toBe('')
})

it('is said by the commands that run agents of theirs, of each package, too', async () => {
  install('@opentelemetry/sdk-node', '0.220.0')
  const check = `const { assertPeers } = await import('./node_modules/hookspan/dist/cli/peers.js')
assertPeers('hookspan demo')`
  expect(await said('openai', '5.1.0', check)).toMatch(
    /^hookspan was tested with openai >=\S+ <\S+, and 5\.1\.0 is installed/,
  )
})
