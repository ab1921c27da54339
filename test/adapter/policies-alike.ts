import { HookDispatcher, type HookEvent } from 'hookspan'
import type { ContractReply, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import type { Approver } from 'hookspan/gates'
import { budget, loopGuard, redact, requireHuman, toolCache, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { ExpertAgent } from './subjects/model.ts'

/** In the words of both ways of naming a tool: those of MCP servers have the server's name before theirs. */
const gates = (maxToolCalls: number) => [
  budget({ maxToolCalls, stop: false }),
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
  ['faked', 'any'],
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
    'faked any: mocked',
    'search one too many: denied budget_exceeded',
  ],
}

/** By a hook that stands in for the tool. */
const faking = {
  id: 'faking',
  type: 'beforeToolCall' as const,
  match: '*faked',
  handler: (event: HookEvent<'beforeToolCall'>) => event.mock({ content: 'it is faked' }),
}

/** @param delegated the calls are those of a sub-agent, and all that can be is streamed. */
async function heldBy(subject: ContractSubject, delegated: boolean) {
  const dispatcher = new HookDispatcher()
  const budgeted = CALLS.length - 1 + (delegated ? 1 : 0)
  dispatcher.use({ name: 'policies', gates: gates(budgeted), hooks: [faking], approver })
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
  const run = { dispatcher, agentName: 'contract', prompt: 'go' }
  const { status, content } = await subject.run(
    delegated ? { ...run, tools, ...delegating(replies, tools), stream: 'read' } : { ...run, replies, tools },
  )
  await dispatcher.drain()
  const results = findAll(events, 'afterToolCall').filter(({ apiName }) => !apiName.endsWith('expert'))
  const told = results.map(({ apiName, args, outcome, content }) => {
    const code = /"code":"(\w+)"/.exec(content)?.[1]
    return `${apiName} ${(args as { q: string }).q}: ${[outcome, code].filter(Boolean).join(' ')}`
  })
  return { status, content, ran, told, first: results[0]?.content }
}

/** An agent that has another make the calls, and makes one more itself. */
function delegating(replies: readonly ContractReply[], tools: readonly ContractTool[]) {
  const expert: ExpertAgent = { name: 'expert', replies, tools }
  const call = (id: string, name: string, args: object) => ({ toolCalls: [{ id, name, args }] })
  const asked = call('ask', 'expert', { instruction: 'help' })
  return { subAgent: expert, replies: [asked, call('after', 'search', { q: 'after' }), { content: 'done' }] }
}

/** The ready gates, all of them at once, decide the same on each. */
export function holdAlike(subjects: readonly ContractSubject[]): void {
  describe('the ready gates hold alike on every SDK', () => {
    it.each(subjects)('$name', (subject) => hold(subject, false), 120_000)
  })
  describe('and in a sub-agent, streamed', () => {
    const within = subjects.filter(({ capabilities }) => capabilities.subAgents)
    it.each(within)('$name', (subject) => hold(subject, true), 120_000)
  })
}

async function hold(subject: ContractSubject, delegated: boolean): Promise<void> {
  const { ran, told, first, ...ended } = await heldBy(subject, delegated)
  const after = delegated ? ['search after: denied budget_exceeded'] : []
  expect({ ran, told }).toEqual({ ...EXPECTED, told: [...EXPECTED.told, ...after] })
  expect(first).toContain('[email] was found')
  expect(ended).toEqual({ status: 'done', content: 'done' })
}
