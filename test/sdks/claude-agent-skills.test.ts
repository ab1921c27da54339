import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { deny, type Gate, mutate, proceed } from 'hookspan/gates'
import { toolPolicy } from 'hookspan/policies'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { runCli } from '../support/run-cli.ts'
import { type ClaudeReply, homeOf, scriptedClaude } from './subjects/claude-agent.ts'
import { askClaude } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-skills-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A project whose skill runs a command when it is loaded. */
function tidyProject() {
  const cwd = mkdtempSync(join(folder, 'project-'))
  const made = join(cwd, 'made')
  mkdirSync(join(cwd, '.claude/skills/tidy'), { recursive: true })
  const text = `---\nname: tidy\ndescription: Tidies.\nallowed-tools: Bash(touch:*)\n---\n!\`touch ${made}\`\n`
  writeFileSync(join(cwd, '.claude/skills/tidy/SKILL.md'), text)
  return { cwd, made, wasMade: () => existsSync(made) }
}

function guarded(...gates: Gate[]): HookDispatcher {
  const dispatcher = new HookDispatcher()
  if (gates.length > 0) dispatcher.use({ name: 'careful', gates })
  return dispatcher
}

const noShells = toolPolicy({ deny: ['Bash', 'PowerShell'] })
const nothingDeleted: Gate = { id: 'a', point: 'beforeToolCall', match: 'delete_*', decide: () => deny('no') }
const bySkill = { toolCalls: [{ id: 'call_1', name: 'Skill', args: { skill: 'tidy' } }] }

const ways = [
  ['its slash command', '/tidy', [{ content: 'done' }]],
  ['its model', 'Tidy up.', [bySkill, { content: 'done' }]],
] as const

describe.each([
  ['that asks nobody of it', 'claude-agent-sdk-0.3.330'],
  ['of which nobody knows whether it asks', '@anthropic-ai/claude-agent-sdk'],
])('a command in the text of a skill, of a Claude Code %s', (_whose, sdk) => {
  it.each(ways)('is not run past a gate by %s', async (_by, prompt, replies) => {
    const { cwd, wasMade } = tidyProject()
    const options = { cwd, settingSources: ['project'], allowedTools: ['Skill', 'Bash'] }
    await askClaude(guarded(noShells), replies, options, { prompt, sdk })
    expect(wasMade()).toBe(false)
  })

  it('is not, whatever settings there are', async () => {
    const { cwd, wasMade } = tidyProject()
    const path = join(cwd, 'more.json')
    writeFileSync(path, '{"includeCoAuthoredBy":false}')
    for (const settings of [
      path,
      'more.json',
      '{"includeCoAuthoredBy":false}',
      { includeCoAuthoredBy: false },
    ]) {
      const options = { cwd, settings, settingSources: ['project'], allowedTools: ['Bash'] }
      await askClaude(guarded(noShells), [{ content: 'done' }], options, { prompt: '/tidy', sdk })
      expect(wasMade()).toBe(false)
    }
  })

  it.each([
    ['nobody decides', []],
    ['gates decide on other tools', [nothingDeleted]],
    ['a gate only looks on', [{ ...noShells, shadow: true }]],
  ])('is run as without us where %s', async (_where, gates) => {
    const { cwd, wasMade } = tidyProject()
    const options = { cwd, settingSources: ['project'], allowedTools: ['Bash'] }
    await askClaude(guarded(...(gates as Gate[])), [{ content: 'done' }], options, { prompt: '/tidy', sdk })
    expect(wasMade()).toBe(true)
  })
})

/** What a Claude Code is told that asks of one: from 0.3.332 on. */
async function askedOf(...gates: Gate[]) {
  const dispatcher = guarded(...gates)
  const told: unknown[] = []
  const handler = (e: Untyped) => void told.push([e.apiName, e.args, e.success])
  dispatcher.use({ name: 'told', hooks: [{ id: 'a', type: 'afterToolCall', handler }] })
  let answer: Untyped
  async function* query({ options }: Untyped) {
    const input = {
      tool_name: 'Bash',
      tool_input: { command: 'git status' },
      tool_use_id: 'call_1:preamble-0',
    }
    for (const { hooks } of options.hooks.PreSkillShellCommand)
      for (const hook of hooks) answer = await hook(input, undefined, {})
    yield { type: 'result', subtype: 'success', result: 'done' }
  }
  for await (const _message of observeClaudeAgent(query as Untyped, { dispatcher })({
    prompt: '/tidy',
  } as never) as Untyped);
  await dispatcher.drain()
  const { permissionDecision: said = 'none', permissionDecisionReason: why } = answer.hookSpecificOutput ?? {}
  return { said, why, told }
}

describe('a command in the text of a skill, of a Claude Code that asks hooks of it', () => {
  const args = { command: 'git status' }

  it('is a tool call, which gates let through', async () => {
    const gate: Gate = { id: 'a', point: 'beforeToolCall', match: 'Bash', decide: () => proceed() }
    expect(await askedOf(gate)).toEqual({ said: 'none', why: undefined, told: [['Bash', args, true]] })
  })

  it('is refused by a gate, with its reason', async () => {
    const { said, why, told } = await askedOf(noShells)
    expect(said).toBe('deny')
    expect(why).toContain('tool_not_allowed')
    expect(told).toEqual([['Bash', args, false]])
  })

  it.each<[string, Gate]>([
    ['changes it', { id: 'a', point: 'beforeToolCall', decide: () => mutate({ command: 'git log' }) }],
    [
      'decides on what it gives',
      { id: 'a', point: 'afterToolCall', match: 'Bash', decide: () => deny('secret') },
    ],
  ])('is refused where a gate %s', async (_how, gate) => {
    const { said, told } = await askedOf(gate)
    expect(said).toBe('deny')
    expect(told).toEqual([['Bash', expect.anything(), false]])
  })
})

describe('hookspan beside the newest Claude Code, which asks hooks of it', () => {
  /** A project that has both installed: the version is told from there. */
  const installed = join(folder, 'installed')
  beforeAll(() => {
    const root = fileURLToPath(new URL('../../', import.meta.url))
    const own = join(installed, 'node_modules/hookspan')
    for (const name of ['dist', 'package.json'])
      cpSync(join(root, name), join(own, name), { recursive: true })
    const link = (from: string, name: string) => {
      mkdirSync(dirname(join(installed, 'node_modules', name)), { recursive: true })
      symlinkSync(join(root, from, 'node_modules', name), join(installed, 'node_modules', name))
    }
    for (const name of ['@opentelemetry/api', ...Object.keys(manifest.dependencies)]) link('', name)
    link('test/sdks', '@anthropic-ai/claude-agent-sdk')
    cpSync(fileURLToPath(new URL('processes/skill-command.mjs', import.meta.url)), join(installed, 'run.mjs'))
  })

  async function run(prompt: string, replies: readonly ClaudeReply[], ...denied: string[]) {
    const { calls, wasMade } = await runIn(installed, { prompt, replies, denied })
    return { calls, wasMade: wasMade() }
  }

  async function runIn(
    folder: string,
    {
      prompt = '/tidy',
      replies = [{ content: 'done' }] as readonly ClaudeReply[],
      denied = ['Bash'],
      env: more = {},
    },
  ) {
    const { cwd, made, wasMade } = tidyProject()
    const server = await scriptedClaude({ contract: replies })
    const { home, env } = homeOf()
    try {
      const { code, stdout, stderr } = await runCli([join(folder, 'run.mjs'), cwd, prompt, ...denied], {
        command: '--no-warnings',
        env: { ...env(server.baseURL), ...more },
      })
      expect(code, stderr).toBe(0)
      const { told, errors } = JSON.parse(stdout) as { told: { apiName: string }[]; errors: string[] }
      const calls = told.filter(({ apiName }) => apiName === 'Bash')
      return { calls, errors, made, wasMade }
    } finally {
      await server.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    }
  }
  const command = expect.stringContaining('touch ')

  it.each(ways)('is decided on by gates, by %s', async (_by, prompt, replies) => {
    expect(await run(prompt, replies, 'Bash')).toEqual({
      calls: [{ apiName: 'Bash', command, success: false }],
      wasMade: false,
    })
    expect(await run(prompt, replies)).toEqual({
      calls: [{ apiName: 'Bash', command, success: true }],
      wasMade: true,
    })
  })

  const older = 'claude-agent-sdk-0.3.330'

  it('is not run where the program itself has an older copy of the SDK', async () => {
    const app = join(installed, 'app')
    mkdirSync(join(app, 'node_modules/@anthropic-ai'), { recursive: true })
    const root = fileURLToPath(new URL('../../', import.meta.url))
    symlinkSync(
      join(root, 'test/sdks/node_modules', older),
      join(app, 'node_modules/@anthropic-ai/claude-agent-sdk'),
    )
    cpSync(join(installed, 'run.mjs'), join(app, 'run.mjs'))
    const { errors, wasMade } = await runIn(app, {})
    expect({ errors, wasMade: wasMade() }).toEqual({ errors: [], wasMade: false })
    const free = await runIn(app, { denied: [] })
    expect(free.wasMade()).toBe(true)
  })

  it('ends the run where Claude Code says that it is an older one, and is left out of the next', async () => {
    const copy = fileURLToPath(new URL(`node_modules/${older}/sdk.mjs`, import.meta.url))
    const once = await runIn(installed, { env: { SDK_COPY: copy } })
    expect(once.errors).toEqual(['NOT_CAPABLE'])
    const replies = [{ content: 'done' }, { content: 'done' }]
    const { errors } = await runIn(installed, { replies, env: { SDK_COPY: copy, RUNS: '2' } })
    expect(errors).toEqual(['NOT_CAPABLE'])
    const free = await runIn(installed, { denied: [], env: { SDK_COPY: copy } })
    expect({ errors: free.errors, wasMade: free.wasMade() }).toEqual({ errors: [], wasMade: true })
  })
})
