import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { receivedTree, registered } from '../support/registered.ts'
import { type CliRun, runCli } from '../support/run-cli.ts'
import { homeOf } from './subjects/claude-agent.ts'

const program = (name: string) => fileURLToPath(new URL(`processes/${name}`, import.meta.url))

let collector: Awaited<ReturnType<typeof startCollector>>
let model: Awaited<ReturnType<typeof startScriptedServer>>
let home: string
let env: Record<string, string>
beforeAll(async () => {
  model = await startScriptedServer({
    respond: ({ body }) => {
      const name = { contract: 'mcp__cleaning__wipe', scripted: 'wipe' }[String(body.model)]
      if (name === undefined) return undefined
      const told = /"type":"(function_call_output|tool_result)"|"role":"tool"/.test(JSON.stringify(body))
      return told ? { content: 'done' } : { toolCalls: [{ id: 'call_1', name, arguments: { what: 'all' } }] }
    },
  })
})
afterAll(() => model.close())
beforeEach(async () => {
  collector = await startCollector()
  const claude = homeOf()
  home = claude.home
  env = {
    ...claude.env(model.baseURL),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OPENAI_BASE_URL: model.baseURL,
    HOOKSPAN_CONFIG_HOME: '/nowhere',
  }
})
afterEach(async () => {
  rmSync(home, { recursive: true, force: true })
  await collector.stop()
})

/** Of our run: what an SDK makes outside of one is its own. */
function runOf(): string[] {
  const tree = receivedTree(collector.spans)
  return tree
    .slice(tree.findIndex((line) => line.trim().startsWith('invoke_agent')))
    .map((line) => line.trim())
}

const turns = (agent: string, name: string) => [
  `invoke_agent ${agent}`,
  'step 0',
  `chat ${name}`,
  'execute_tool wipe',
  'step 1',
  `chat ${name}`,
]

it.each([
  ['adk.mjs', 'cleaner', 'scripted'],
  ['strands.mjs', 'cleaner', 'scripted'],
  ['copilot.mjs', 'copilot', 'scripted'],
  ['mastra.mjs', 'cleaner', 'scripted'],
  ['mastra.cjs', 'cleaner', 'scripted'],
  ['claude.mjs', 'claude', 'contract'],
])('attaches to a plain agent, whose tool the gates of the project hold: %s', async (name, agent, llm) => {
  const free = await registered(program(name), { env })
  expect({ code: free.code, stdout: free.stdout }, free.stderr).toEqual({
    code: 0,
    stdout: 'all is wiped\ndone\n',
  })
  expect(runOf()).toEqual(turns(agent, llm))
  expect(free.stderr).not.toContain('not attached')

  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
  const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
  writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
  const guarded = await registered(program(name), { env, cwd })
  rmSync(cwd, { recursive: true, force: true })
  expect({ code: guarded.code, stdout: guarded.stdout }, guarded.stderr).toEqual({
    code: 0,
    stdout: 'done\n',
  })
})

it('an agent of Mastra that another calls is observed once, and the gates of the project hold in it', async () => {
  const args = ['below']
  const free = await registered(program('mastra.mjs'), { args, env })
  expect({ code: free.code, stdout: free.stdout }, free.stderr).toEqual({
    code: 0,
    stdout: 'all is wiped\ndone\n',
  })
  expect(runOf()).toEqual([
    'invoke_agent chief',
    'step 0',
    'chat scripted',
    'execute_tool agent-cleaner',
    ...turns('cleaner', 'scripted'),
    'step 1',
    'chat scripted',
  ])

  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
  const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
  writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
  const guarded = await registered(program('mastra.mjs'), { args, env, cwd })
  rmSync(cwd, { recursive: true, force: true })
  expect({ code: guarded.code, stdout: guarded.stdout }, guarded.stderr).toEqual({
    code: 0,
    stdout: 'done\n',
  })
  expect(guarded.stderr).not.toContain('NOT_CAPABLE')
})

it('says which workflow of Mastra runs tools that no agent calls', async () => {
  const { code, stdout, stderr } = await registered(program('workflow.mjs'), { env })
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'all\nall\n' })
  const told = stderr.split('\n').filter((line) => line.includes('workflow'))
  expect(told).toEqual([
    expect.stringMatching(/^hookspan: the tools of workflow "nightly" of @mastra\/core are not attached: /),
  ])
})

it('attaches to runners of ADK where it is required, and its classes stay what they are', async () => {
  const { code, stdout, stderr } = await registered(program('adk.cjs'), { env })
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'done true\n' })
  expect(runOf()).toEqual(['invoke_agent cleaner', 'step 0', 'chat scripted'])
})

const viaRun = (...args: string[]) => runCli(['run', '--', process.execPath, ...args], { env })

it.each<[string, () => Promise<CliRun>]>([
  ['by startup()', () => registered(program('claude.mjs'), { args: ['startup'], env })],
  ['by hookspan run', () => viaRun(program('claude.mjs'))],
])('attaches to Claude Code %s', async (_how, start) => {
  const { code, stdout, stderr } = await start()
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'all is wiped\ndone\n' })
  expect(runOf()).toEqual(turns('claude', 'contract'))
})

it('Claude Code starts by hookspan run under guards, which hold on its tools', async () => {
  // Its process goes to HOME, and is an executable of Bun's, which takes BUN_OPTIONS.
  const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
  writeFileSync(join(home, 'hookspan.config.json'), JSON.stringify({ gates }))
  const { code, stdout, stderr } = await runCli(['run', '--', process.execPath, program('claude.mjs')], {
    env,
    cwd: home,
  })
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'done\n' })
  expect(runOf()).toEqual(turns('claude', 'contract'))
})

it('refuses a spare process of Claude Code where guards are to hold, and says that it is not seen where none are', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
  const start = () => registered(program('claude.mjs'), { args: ['prewarm'], env, cwd })
  const free = await start()
  expect(free.stderr).toContain('a process of prewarm() is not attached')
  expect(free.stdout).toContain('all is wiped\ndone\n')

  const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
  writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
  const { code, stdout, stderr } = await start()
  rmSync(cwd, { recursive: true, force: true })
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'NOT_CAPABLE\ndone\n' })
})

it.each(['own-strands.mjs', 'own-copilot.mjs'])(
  'leaves an agent to the program that has attached it by itself: %s',
  async (name) => {
    const resolve = new URL('support/resolve.ts', import.meta.url).href
    const { code, stdout, stderr } = await registered('--import', {
      args: [resolve, program(name)],
      env,
    })
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'heard beforeToolCall wipe\ndone\n' })
    expect(stderr).toContain('is left to its own dispatcher')
    expect(collector.spans).toEqual([])
  },
)
