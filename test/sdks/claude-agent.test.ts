import { HookDispatcher } from 'hookspan'
import { adapterContract } from 'hookspan/adapter/contract'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { elsewhere } from './support/elsewhere.ts'

describe('the contract holds for claude-agent', () => {
  for (const { name, run } of adapterContract({
    ...claudeAgentSubject,
    elsewhere: elsewhere('claude-agent'),
  }))
    it(name, run)
})

it.each(['mcp__contract__delete_order', 'mcp__contract__*', 'mcp__*', 'delete_order', 'contract/*'])(
  'keeps %s from running, as it is written for Claude Code and for gates',
  { timeout: 60_000 },
  async (name) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: [name] })] })
    const ran: unknown[] = []
    const tools = [
      {
        name: 'delete_order',
        description: 'Deletes an order.',
        parameters: { type: 'object', properties: { id: { type: 'string' } } },
        execute: async (args: unknown) => `deleted ${ran.push(args)}`,
      },
    ]
    const asked = { toolCalls: [{ id: 'call_0', name: 'delete_order', args: { id: '7' } }] }
    const replies = [asked, { content: 'done' }]
    await claudeAgentSubject.run({ dispatcher, agentName: 'contract', prompt: 'go', replies, tools })
    expect(ran).toEqual([])
  },
)
