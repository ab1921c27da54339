/** Agents of SDKs in a durable loop, whose process dies behind each record of it: what was kept is not done again. */
import { HookDispatcher, type HookEvent } from 'hookspan'
import type { ContractReply, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import type { DurableLoop } from '../../../src/durable/loop-run.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../../../src/durable/options.ts'
import { DurableRuns } from '../../../src/durable/runs.ts'
import { Journal, MemoryEngine } from '../../agent/durable-model/engine.ts'

const REPLIES: readonly ContractReply[] = [
  { toolCalls: [{ id: 'c1', name: 'search', args: { q: 'bags' } }] },
  {
    toolCalls: [
      { id: 'c2', name: 'search', args: { q: 'socks' } },
      { id: 'c3', name: 'search', args: { q: 'hats' } },
    ],
  },
  { content: 'Three bags.' },
] as never

const never = () => new Promise<never>(() => {})

export function describeDurable(subjects: readonly ContractSubject[]): void {
  const CASES = subjects.flatMap((subject) =>
    ([undefined, 'read'] as const).map((stream) => ({
      name: `${subject.name}${stream ? ', streamed' : ''}`,
      subject,
      stream,
    })),
  )

  describe.each(CASES)('$name', ({ subject, stream }) => {
    it.each([
      ['goes on behind whatever was kept', false],
      ['waits for a human meanwhile', true],
    ])('%s', async (_name, asks) => {
      for (let diesAfter = 0; diesAfter < 40; diesAfter++) {
        const journal = new Journal()
        const store = memoryStore()
        const events: HookEvent[] = []
        const ran: string[] = []
        const outcomes: unknown[] = []
        const search: ContractTool = {
          name: 'search',
          description: 'Searches.',
          parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
          execute: async ({ q }: { q: string }) => {
            ran.push(q)
            return `${q}: 3`
          },
        } as never

        const attempt = async (dies: boolean) => {
          const dispatcher = new HookDispatcher()
          const approvals = createApprovals({ store, mode: 'park' })
          dispatcher.use(approvals)
          if (asks) dispatcher.use({ name: 'asks', gates: [requireHuman({ match: 'search' })] })
          const handler = (event: HookEvent) => void events.push(event)
          for (const type of ['beforeLlmCall', 'afterToolCall', 'onComplete'] as const) {
            dispatcher.use({ name: type, hooks: [{ id: type, type, handler }] } as never)
          }
          const over = Promise.withResolvers<'died'>()
          let records = 0
          const engine = new MemoryEngine(journal, {
            suspends: false,
            forgets: false,
            moment: async (what) => {
              if (!dies || what !== 'after a record' || records++ !== diesAfter) return
              over.resolve('died')
              await never()
            },
            wait: async () => {
              for (const { request } of await approvals.list({ status: 'pending' })) {
                await approvals.respond(request.id, { decision: 'approve', approver: 'ines' })
              }
            },
            suspend: () => {},
            hasLost: () => false,
          })
          const agent: DurableLoop = async ({ signal }) => {
            // The loop begins anew in an attempt, too, where it has waited.
            const asked = events.filter(({ hookType }) => hookType === 'beforeLlmCall').length
            const replies = REPLIES.slice(asked)
            const outcome = await subject.run({
              dispatcher,
              agentName: 'shop',
              prompt: 'bags?',
              replies,
              tools: [search],
              signal,
              ...(stream && { stream }),
            })
            outcomes.push(outcome)
            return outcome.content
          }
          const options = { name: 'support', dispatcher, agent } as unknown as DurableAgentOptions
          const runs = DurableRuns.of(options, DURABLE_FIELDS, () => undefined)
          return Promise.race([runs.run(engine, 'run-1', { prompt: 'go' }), over.promise])
        }

        const first = await attempt(true)
        const last = first === 'died' ? await attempt(false) : first
        const where = `died after record ${diesAfter}`
        expect(last, where).toMatchObject({ reason: 'done', value: expect.stringMatching(/Three bags\.$/) })
        // One that may have run is not run again.
        expect(new Set(ran).size, where).toBe(ran.length)
        if (first !== 'died') expect(ran.toSorted()).toEqual(['bags', 'hats', 'socks'])
        const told = (type: string) => events.filter(({ hookType }) => hookType === type).length
        expect([told('beforeLlmCall'), told('afterToolCall'), told('onComplete')], where).toEqual([3, 3, 1])
        if (first !== 'died') {
          expect(diesAfter).toBeGreaterThan(4)
          return
        }
      }
      throw new Error('It has no end.')
    })
  })
}
