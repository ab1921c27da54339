import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { toolPolicy } from 'hookspan/policies'
import { afterAll, expect, it } from 'vitest'
import { askClaude } from './support/ask-claude.ts'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-commands-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const use = (name: string, args: object) => ({ toolCalls: [{ id: `call_${name}`, name, args }] })

function denying(...tools: string[]) {
  const dispatcher = new HookDispatcher()
  const told: unknown[] = []
  const handler = ({ apiName, success }: { apiName: string; success: boolean }) =>
    void told.push([apiName, success])
  dispatcher.use({
    name: 'careful',
    hooks: [{ id: 'a', type: 'afterToolCall', handler }],
    gates: [toolPolicy({ deny: tools })],
  })
  return { dispatcher, told }
}

/** A project, with a plugin, in which everything that can name a command names one. */
function projectOfCommands() {
  const cwd = mkdtempSync(join(folder, 'project-'))
  const made = join(cwd, 'made')
  mkdirSync(made)
  const put = (path: string, text: object | string) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), typeof text === 'string' ? text : JSON.stringify(text))
  }
  const touch = (name: string) => `touch ${join(made, name)}`
  const hooks = (name: string) => ({ SessionStart: [{ hooks: [{ type: 'command', command: touch(name) }] }] })
  const servers = (name: string) => ({ mcpServers: { [name]: { command: 'sh', args: ['-c', touch(name)] } } })
  put('.claude/settings.json', {
    hooks: hooks('settings'),
    apiKeyHelper: `${touch('key')}; echo none`,
    enableAllProjectMcpServers: true,
  })
  put('.mcp.json', servers('server'))
  const inSkill = `hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: ${touch('skill')}\n`
  put('.claude/skills/tidy/SKILL.md', `---\nname: tidy\ndescription: Tidies.\n${inSkill}---\nTidy.\n`)
  put('note.txt', 'hi')
  put('plug/.claude-plugin/plugin.json', { name: 'plug', version: '1.0.0', description: 'Plugs.' })
  put('plug/hooks/hooks.json', { hooks: hooks('plugin') })
  put('plug/.mcp.json', servers('plugin-server'))
  return { cwd, plugin: join(cwd, 'plug'), ran: () => readdirSync(made).toSorted() }
}

it('what settings, plugins and skills name is run by Claude Code itself, and is no tool call', async () => {
  const { cwd, plugin, ran } = projectOfCommands()
  const { dispatcher, told } = denying('Bash', 'PowerShell', 'Monitor')
  const replies = [
    use('Skill', { skill: 'tidy' }),
    use('Read', { file_path: join(cwd, 'note.txt') }),
    { content: 'done' },
  ]
  const allowedTools = ['Skill', 'Read']
  const plugins = [{ type: 'local', path: plugin }]
  await askClaude(dispatcher, replies, { cwd, allowedTools, settingSources: ['project'], plugins })
  expect(ran()).toEqual(['key', 'plugin', 'plugin-server', 'server', 'settings', 'skill'])
  expect(told).toEqual([
    ['Skill', true],
    ['Read', true],
  ])
})

it('nothing of it is, without settings of files and without plugins', async () => {
  const { cwd, ran } = projectOfCommands()
  await askClaude(denying('Bash').dispatcher, [{ content: 'done' }], { cwd, settingSources: [] })
  expect(ran()).toEqual([])
})

it.each([
  [['Bash', 'PowerShell'], true],
  [['Bash', 'PowerShell', 'Monitor'], false],
])('Monitor runs shell commands under its own name: with %j denied, %s', async (denied, runs) => {
  const { dispatcher, told } = denying(...denied)
  const command = use('Monitor', { description: 'x', command: 'true', timeout_ms: 1_000, persistent: false })
  await askClaude(dispatcher, [command, { content: 'done' }, { content: 'done' }], {
    allowedTools: ['Monitor'],
  })
  expect(told).toEqual([['Monitor', runs]])
})
