import { HookDispatcher, type HookFailure } from 'hookspan'
import type { ContractReply, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { type Gate, proceed } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import type { ExpertAgent } from './subjects/model.ts'

/** In the words of both ways of naming a tool: those of MCP servers have the server's name before theirs. */
const GUARDED = [
  '*find_orders',
  '*expert',
  '*find_order',
  // Of nobody: one misspelt, one of a tool that is gone, and a precaution, which nothing nearly fits.
  '*find_ordres',
  'drop_order',
  '*delete_all',
]

const gates = GUARDED.map((match): Gate => ({ id: match, point: 'beforeToolCall', match, decide: proceed }))

const toolOf = (name: string): ContractTool => ({
  name,
  description: name,
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
  execute: async () => 'done',
})

const call = (name: string, args: object): ContractReply => ({
  toolCalls: [{ id: `call_${name}`, name, args }],
})

const FIND = call('find_orders', { q: 'one' })
const ASK = call('expert', { instruction: 'find it' })
const DONE = { content: 'done' }

/** Runs of an agent whose tool `expert` asks another, which alone has `find_order`. */
async function toldOf(subject: ContractSubject, ...runs: ContractReply[][]): Promise<string[]> {
  const failures: HookFailure[] = []
  const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
  dispatcher.use({ name: 'guards', gates })
  const subAgent: ExpertAgent = {
    name: 'expert',
    replies: [call('find_order', { q: 'it' }), DONE],
    tools: [toolOf('find_order')],
  }
  const run = { dispatcher, agentName: 'contract', prompt: 'go', tools: [toolOf('find_orders')], subAgent }
  for (const replies of runs) await subject.run({ ...run, replies })
  await dispatcher.drain()
  expect(failures.filter(({ kind }) => kind !== 'unmatched')).toEqual([])
  return failures.map(({ hookId }) => hookId).sort()
}

/** A guard that names no tool is told of, by each adapter alike, and one that names a sub-agent's is not. */
export function tellAlike(subjects: readonly ContractSubject[]): void {
  const within = subjects.filter(({ capabilities }) => capabilities.subAgents)
  describe('a guard that names a tool of nobody is told of once, and that of an agent which was called is not', () => {
    it.each(within)(
      '$name',
      async (subject) => {
        const asked = [FIND, ASK, DONE]
        const told = await toldOf(subject, asked, [FIND, DONE], asked)
        expect(told).toEqual(['*find_ordres', 'drop_order'])
      },
      120_000,
    )
  })

  describe('so is one for an agent that no run has called, whose tools nobody knows', () => {
    it.each(within.filter(({ name }) => name !== 'execAgent'))(
      '$name',
      async (subject) => {
        const told = await toldOf(subject, [FIND, DONE], [FIND, DONE])
        expect(told).toEqual(['*find_order', '*find_ordres', 'drop_order'])
      },
      120_000,
    )
  })
}
