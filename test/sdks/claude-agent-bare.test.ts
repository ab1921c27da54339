import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { askClaude } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'
const sdk: Untyped = await import(NAME)

/** What its model asks for: a tool of this process and one of Claude Code's own, unless it has none. */
async function wiping(dispatcher: HookDispatcher, options: Untyped) {
  const ran: string[] = []
  const file = join(mkdtempSync(join(tmpdir(), 'hookspan-bare-')), 'made')
  const wipe = sdk.tool('wipe', 'Wipes.', { q: z.string() }, async ({ q }: { q: string }) => {
    ran.push(q)
    return { content: [{ type: 'text', text: 'wiped' }] }
  })
  const own = { id: 'call_1', name: 'mcp__mine__wipe', args: { q: 'a' } }
  const bash = { id: 'call_2', name: 'Bash', args: { command: `touch ${file}`, description: 'd' } }
  const toolCalls = options.tools === undefined ? [own, bash] : [own]
  const asked = askClaude(dispatcher, [{ toolCalls }, { content: 'done' }], {
    mcpServers: { mine: sdk.createSdkMcpServer({ name: 'mine', tools: [wipe] }) },
    allowedTools: ['mcp__mine__wipe', 'Bash'],
    ...options,
  })
  const error: Untyped = await asked.then(
    () => undefined,
    (thrown) => thrown,
  )
  return { code: error?.code, ran, made: existsSync(file) }
}

describe('a Claude Code that asks no hooks', () => {
  const bare = { extraArgs: { bare: null } }

  it.each([
    ['its arguments', bare],
    ['a setting', { settings: { env: { CLAUDE_CODE_SIMPLE: '1' } } }],
  ])('by %s runs none of its tools past a gate', async (_by, options) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe', 'Bash'] })] })
    expect(await wiping(dispatcher, options)).toEqual({ code: 'NOT_CAPABLE', ran: [], made: false })
  })

  it('runs none of its tools past a mock', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('wipe').returns('canned').optional()])
    const asked = await wiping(dispatcher, { ...bare, tools: [] })
    expect(asked).toMatchObject({ code: 'NOT_CAPABLE', ran: [] })
  })

  it('does what it does where nobody decides', async () => {
    expect(await wiping(new HookDispatcher(), bare)).toEqual({ code: undefined, ran: ['a'], made: true })
  })
})
