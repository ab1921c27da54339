import { HookDispatcher } from 'hookspan'
import type { ContractReply, ContractSubject } from 'hookspan/adapter/contract'
import type { Approver } from 'hookspan/gates'
import { budget, loopGuard, redact, requireHuman, toolCache, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { eventsOf, findAll } from '../support/told-events.ts'

/** In the words of both ways of naming a tool: those of MCP servers have the server's name before theirs. */
const gates = () => [
  budget({ maxToolCalls: 8, stop: false }),
  toolPolicy({ deny: ['*drop*'], denyArguments: { q: ['rm -rf'] } }),
  loopGuard({ maxRepeats: 2, ignore: ['*send'] }),
  requireHuman({ match: ['*send'] }),
  toolCache({ match: ['*search'] }),
  redact({ in: ['toolResult'] }),
]

const approver: Approver = {
  async requestApproval({ args }) {
    const { q } = args as { q: string }
    if (q === 'edit') return { decision: 'edit', args: { q: 'edited' } }
    return q === 'yes' ? { decision: 'approve' } : { decision: 'reject', reason: 'not this one' }
  },
}

const CALLS = [
  ['search', 'me@shop.example'],
  ['search', 'me@shop.example'],
  ['search', 'me@shop.example'],
  ['drop', 'all'],
  ['search', 'rm -rf /'],
  ['send', 'yes'],
  ['send', 'no'],
  ['send', 'edit'],
  ['search', 'one too many'],
] as const

const EXPECTED = {
  ran: ['search(me@shop.example)', 'send(yes)', 'send(edited)'],
  told: [
    'search me@shop.example: completed',
    'search me@shop.example: skipped',
    'search me@shop.example: denied loop_detected',
    'drop all: denied tool_not_allowed',
    'search rm -rf /: denied argument_denied',
    'send yes: completed',
    'send no: rejected rejected',
    'send edited: completed',
    'search one too many: denied budget_exceeded',
  ],
}

async function heldBy(subject: ContractSubject) {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'policies', gates: gates(), approver })
  const events = eventsOf(dispatcher)
  const ran: string[] = []
  const tools = [...new Set(CALLS.map(([name]) => name))].map((name) => ({
    name,
    description: name,
    parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    async execute({ q }: { q: string }) {
      ran.push(`${name}(${q})`)
      return `${q} was found`
    },
  }))
  const asked = CALLS.map(
    ([name, q], index): ContractReply => ({ toolCalls: [{ id: `call_${index}`, name, args: { q } }] }),
  )
  const replies = [...asked, { content: 'done' }]
  const { status, content } = await subject.run({
    dispatcher,
    agentName: 'contract',
    prompt: 'go',
    replies,
    tools,
  })
  await dispatcher.drain()
  const results = findAll(events, 'afterToolCall')
  const told = results.map(({ apiName, args, outcome, content }) => {
    const code = /"code":"(\w+)"/.exec(content)?.[1]
    return `${apiName} ${(args as { q: string }).q}: ${[outcome, code].filter(Boolean).join(' ')}`
  })
  return { status, content, ran, told, first: results[0]?.content }
}

/** The ready gates, all of them at once, decide the same on each. */
export function holdAlike(subjects: readonly ContractSubject[]): void {
  describe('the ready gates hold alike on every SDK', () => {
    it.each(subjects)(
      '$name',
      async (subject) => {
        const { ran, told, first, ...ended } = await heldBy(subject)
        expect({ ran, told }).toEqual(EXPECTED)
        expect(first).toContain('[email] was found')
        expect(ended).toEqual({ status: 'done', content: 'done' })
      },
      120_000,
    )
  })
}
