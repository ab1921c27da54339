import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type HookEvent, ToolResult } from 'hookspan'
import { deny, mutate, proceed, skip } from 'hookspan/gates'
import { afterAll, expect, it } from 'vitest'
import { dispatcherWith, findAll, gate } from '../support/told-events.ts'
import { askClaude } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-results-'))
const file = join(folder, 'SECRET.txt')
writeFileSync(file, 'SECRET\n')
afterAll(() => rmSync(folder, { recursive: true }))

const tools = ['Agent', 'Bash', 'Glob', 'Grep', 'Read', 'Write']
const agents = { expert: { description: 'Knows.', prompt: 'You know.', tools: ['Bash'], model: 'expert' } }
const help = { description: 'Helps', prompt: 'help', subagent_type: 'expert', run_in_background: false }

/** What a model is told of the tool that it has called, with what a gate makes of its result. */
async function toldOf(name: string, args: object, decide: () => Untyped, options: object = {}) {
  const only = gate('afterToolCall', ({ apiName }: Untyped) => (apiName === name ? decide() : undefined))
  const { dispatcher, events } = dispatcherWith(only)
  const messages = await askClaude(
    dispatcher,
    [{ toolCalls: [{ id: 'call', name, args }] }, { content: 'done' }],
    { tools, allowedTools: tools, agents, cwd: folder, ...options },
    { others: { expert: [{ content: 'SECRET' }] } },
  )
  const said = messages.filter(({ type, parent_tool_use_id: within }) => type === 'user' && within === null)
  return { told: JSON.stringify(said.map(({ message }) => message.content)), messages, events }
}

const CALLS: readonly (readonly [string, object])[] = [
  ['Bash', { command: `cat ${file}`, description: 'Shows it' }],
  ['Read', { file_path: file }],
  ['Grep', { pattern: 'SECRET', path: folder, output_mode: 'content' }],
  ['Glob', { pattern: '*.txt', path: folder }],
  ['Agent', help],
]

it.each(CALLS)('the model is told what a gate makes of the result of %s', async (name, args) => {
  const denied = await toldOf(name, args, () => deny('not for you'))
  expect(denied.told).toContain('not for you')
  expect(denied.told).not.toContain('SECRET')
  const replaced = await toldOf(name, args, () => mutate('something else'))
  expect(replaced.told).toContain('something else')
  expect(replaced.told).not.toContain('SECRET')
})

it('the model is told the words of a result that a gate made, and not the data beside them', async () => {
  const [name, args] = CALLS[0] as (typeof CALLS)[number]
  const { told } = await toldOf(name, args, () =>
    mutate(new ToolResult({ content: 'a summary', data: 'SECRET' })),
  )
  expect(told).toContain('a summary')
  expect(told).not.toContain('SECRET')
})

it.each([0, 300])(
  'what a gate makes of a result stays where a hook beside it changes it, after %s ms',
  async (ms) => {
    const [name, args] = CALLS[0] as (typeof CALLS)[number]
    const loud = async ({ tool_response: own }: Untyped) => {
      await setTimeout(ms)
      const updatedToolOutput = { ...own, stdout: `loud ${own.stdout}` }
      return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } }
    }
    const hooks = { PostToolUse: [{ hooks: [loud] }] }
    const told = async (decide: () => Untyped) =>
      (await toldOf(name, args, decide, { hooks })).told.match(/loud|SECRET|something else/g)
    expect(await told(() => mutate('something else'))).toEqual(['something else'])
    // Where no gate changes it the hook does.
    expect(await told(() => proceed())).toEqual(['loud', 'SECRET'])
  },
)

it('a gate that answers for one of its own tools is refused as what cannot be, in the trace as for the model', async () => {
  const answers = gate('beforeToolCall', () => skip('canned'))
  const { dispatcher, events } = dispatcherWith(answers)
  const call = {
    id: 'call',
    name: 'Bash',
    args: { command: `touch ${join(folder, 'ran')}`, description: 'Runs' },
  }
  const messages = await askClaude(dispatcher, [{ toolCalls: [call] }, { content: 'done' }], {
    tools,
    allowedTools: tools,
  })
  expect(findAll(events, 'afterToolCall')).toMatchObject([
    { outcome: 'denied', code: 'not_capable', success: false },
  ])
  const told = JSON.stringify(
    messages.filter(({ type }) => type === 'user').map(({ message }) => message.content),
  )
  expect(told).toContain('not_capable')
  expect(told).not.toContain('canned')
  expect(existsSync(join(folder, 'ran'))).toBe(false)
})

it('a run ends where a result cannot be told in other words, and its model is not asked again', async () => {
  const written = { file_path: join(folder, 'new.txt'), content: 'SECRET' }
  const { messages, events } = await toldOf('Write', written, () => deny('not for you'))
  expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'denied' }])
  expect(findAll(events, 'beforeLlmCall')).toHaveLength(1)
  expect(messages.at(-1)).toMatchObject({ type: 'result' })
})

it.each<[string, object]>([
  ['Bash', { command: `touch ${join(folder, 'ran')}`, description: 'Runs' }],
  ['Agent', help],
])('a hook that mocks %s is refused as what cannot be, and the tool does not run', async (name, args) => {
  const { dispatcher, events } = dispatcherWith()
  const handler = (event: HookEvent<'beforeToolCall'>) => event.mock({ content: 'mocked' })
  dispatcher.use({ name: 'mocks', hooks: [{ id: 'mocks', type: 'beforeToolCall', match: name, handler }] })
  const replies = [{ toolCalls: [{ id: 'call', name, args }] }, { content: 'done' }]
  await askClaude(dispatcher, replies, { tools, allowedTools: tools, agents, cwd: folder })
  expect(findAll(events, 'afterToolCall')).toMatchObject([
    { outcome: 'denied', code: 'not_capable', mocked: false },
  ])
  expect(findAll(events, 'beforeCallAgent')).toEqual([])
  expect(existsSync(join(folder, 'ran'))).toBe(false)
})
