import { HookDispatcher } from 'hookspan'
import { proceed } from 'hookspan/gates'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { askClaude } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'
const sdk: Untyped = await import(NAME)

const asked = { id: 'call_1', name: 'mcp__mine__look', args: { q: 'asked' } }
const done = { content: 'done' }

/** What the tool of a server in this process is run with, and hooks are told that it was. */
async function ranWith(options: object, gates: boolean): Promise<unknown[]> {
  const ran: unknown[] = []
  const told: unknown[] = []
  const look = sdk.tool('look', 'Looks.', { q: z.string() }, async ({ q }: { q: string }) => {
    ran.push(q)
    return { content: [{ type: 'text', text: `found ${q}` }] }
  })
  const dispatcher = new HookDispatcher()
  if (gates)
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeToolCall', decide: () => proceed() }] })
  const handler = ({ args }: Untyped) => void told.push(args.q)
  dispatcher.use({ name: 'told', hooks: [{ id: 'told', type: 'afterToolCall', handler }] })
  const mcpServers = { mine: sdk.createSdkMcpServer({ name: 'mine', tools: [look] }) }
  await askClaude(dispatcher, [{ toolCalls: [asked] }, done], { tools: [], mcpServers, ...options })
  expect(told).toEqual(ran)
  return ran
}

const updatedInput = { q: 'edited' }
const permitting = { canUseTool: async () => ({ behavior: 'allow', updatedInput }) }
const hookSpecificOutput = { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput }
const request = { hookEventName: 'PermissionRequest', decision: { behavior: 'allow', updatedInput } }
const requesting = {
  hooks: { PermissionRequest: [{ hooks: [async () => ({ hookSpecificOutput: request })] }] },
}
const hooking = { hooks: { PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput })] }] } }

it.each([
  ['whoever permits it', permitting, false, 'edited'],
  ['whoever permits it, also after a gate', permitting, true, 'edited'],
  ['a hook that permits it', requesting, false, 'edited'],
  ['a hook that permits it, also after a gate', requesting, true, 'edited'],
  ['a hook of the user', hooking, false, 'edited'],
  // What was decided on runs.
  ['no hook that a gate did not see', hooking, true, 'asked'],
])(
  'a tool of a server in this process runs with the arguments made by %s',
  async (_who, options, gates, made) => {
    expect(await ranWith(options, gates)).toEqual([made])
  },
)

it.each([
  [false, 'edited'],
  [true, 'asked'],
])('a tool of Claude Code runs with what a gate decided on, where there is one: %s', async (gates, made) => {
  const dispatcher = new HookDispatcher()
  const gate = { id: 'g', point: 'beforeToolCall', decide: () => proceed() } as const
  if (gates) dispatcher.use({ name: 'g', gates: [gate] })
  const bash = (what: string) => ({ command: `echo it was ${what}`, description: 'Says it' })
  const edit = { ...hookSpecificOutput, updatedInput: bash('edited') }
  const calls = [{ id: 'call_1', name: 'Bash', args: bash('asked') }]
  const hooks = { PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput: edit })] }] }
  const messages = await askClaude(dispatcher, [{ toolCalls: calls }, done], { tools: ['Bash'], hooks })
  const results = messages.filter(({ type }) => type === 'user').map(({ message }) => message.content)
  expect(JSON.stringify(results)).toContain(`it was ${made}`)
})
