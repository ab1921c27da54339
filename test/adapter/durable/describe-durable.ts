/** Agents of SDKs in a durable loop, whose process dies behind each record of it: what was kept is not done again. */

import { HookDispatcher } from 'hookspan'
import type { ContractReply, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { deny, gateAt, skip } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { dyingBehindEach, type Way } from './dying.ts'

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
      let runs = 0
      const way: Way = async ({ dispatcher, signal, events, ran }) => {
        const search: ContractTool = {
          name: 'search',
          description: 'Searches.',
          parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
          execute: async ({ q }: { q: string }) => {
            ran.push(q)
            return `${q}: 3`
          },
        } as never
        // The loop begins anew in an attempt, too, where it has waited.
        const asked = events.filter(({ hookType }) => hookType === 'beforeLlmCall').length
        const { content } = await subject.run({
          dispatcher,
          agentName: 'shop',
          prompt: 'bags?',
          replies: REPLIES.slice(asked),
          tools: [search],
          signal,
          ...(stream && { stream }),
        })
        return content
      }
      for await (const { where, died, last, ran, events } of dyingBehindEach(way, asks)) {
        runs++
        expect(last, where).toMatchObject({ reason: 'done', value: expect.stringMatching(/Three bags\.$/) })
        // One that may have run is not run again.
        expect(new Set(ran).size, where).toBe(ran.length)
        if (!died) expect(ran.toSorted()).toEqual(['bags', 'hats', 'socks'])
        const told = (type: string) => events.filter(({ hookType }) => hookType === type).length
        expect([told('beforeLlmCall'), told('afterToolCall'), told('onComplete')], where).toEqual([3, 3, 1])
      }
      expect(runs).toBeGreaterThan(5)
    })

    const asksOnce: ContractReply = {
      toolCalls: [
        { id: 'c1', name: 'search', args: { q: 'socks' } },
        { id: 'c2', name: 'search', args: { q: 'hats' } },
      ],
    }
    const asking: Way = async ({ dispatcher, signal, asked, ran }) => {
      const { content } = await subject.run({
        dispatcher,
        agentName: 'shop',
        prompt: 'bags?',
        replies: [asksOnce, { content: 'Three bags.' }].slice(asked),
        tools: [
          {
            name: 'search',
            description: 'Searches.',
            parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
            execute: async ({ q }) => {
              ran.push(q)
              return `${q}: 3`
            },
          },
        ],
        signal,
        ...(stream && { stream }),
      })
      return content
    }

    it('begins no tool before it is kept that it is at work', async () => {
      for await (const { where, last, ran } of dyingBehindEach(asking, false, { before: true })) {
        expect(last, where).toMatchObject({ reason: 'done', value: expect.stringMatching(/Three bags\.$/) })
        expect(new Set(ran).size, where).toBe(ran.length)
      }
    })

    it.each([
      ['denies', deny('not today')],
      ['answers', skip({ content: 'not today' })],
    ])('gives once more what a gate said that %s in the place of the model', async (_name, decision) => {
      const gates = [gateAt('beforeLlmCall', { id: 'guard', decide: () => decision })]
      for await (const { where, last, ran } of dyingBehindEach(asking, false, { gates })) {
        expect([last, ran], where).toMatchObject([{ reason: 'done', value: 'not today' }, []])
      }
    })

    it('begins no tool once the run was stopped by what came of a call beside it', async () => {
      const decide = ({ payload }: { payload: unknown }) =>
        (payload as { q: string }).q === 'hats' ? deny('enough', { stop: true }) : undefined
      const gates = [gateAt('beforeToolCall', { id: 'guard', decide })]
      const bare: string[] = []
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'guards', gates })
      const { signal } = new AbortController()
      await asking({ dispatcher, signal, events: [], asked: 0, ran: bare }).catch(() => {})
      for await (const { where, last, ran } of dyingBehindEach(asking, false, { gates })) {
        expect(last, where).toMatchObject({ reason: 'denied' })
        expect(ran.length, where).toBeLessThanOrEqual(bare.length)
      }
    })

    it.skipIf(subject.endsOnFailure).each([
      ['a tool', false],
      ['a mock', true],
    ])('goes on behind a failure of %s that was kept', async (_name, mocked) => {
      const way: Way = async ({ dispatcher, signal, asked, ran }) => {
        const standIn = () => ({ source: 'test', mock: { error: 'the shelf fell down' } })
        if (mocked) dispatcher.use({ name: 'mocks', standIn })
        const { content } = await subject.run({
          dispatcher,
          agentName: 'shop',
          prompt: 'bags?',
          replies: [REPLIES[0], REPLIES[2]].slice(asked) as ContractReply[],
          tools: [
            {
              name: 'search',
              description: 'Searches.',
              parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
              execute: async ({ q }) => {
                ran.push(q)
                throw new Error('the shelf fell down')
              },
            },
          ],
          signal,
          ...(stream && { stream }),
        })
        return content
      }
      for await (const { where, last, ran } of dyingBehindEach(way, false)) {
        expect(last, where).toMatchObject({ reason: 'done', value: expect.stringMatching(/Three bags\.$/) })
        expect(ran.length, where).toBeLessThanOrEqual(mocked ? 0 : 1)
      }
    })
  })
}
