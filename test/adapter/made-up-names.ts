import { HookDispatcher, type HookEvent } from 'hookspan'
import type { ContractReply, ContractRun, ContractSubject } from 'hookspan/adapter/contract'
import { type MockRule, mock, mockTools } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { eventsOf } from '../support/told-events.ts'

const REPLIES: readonly ContractReply[] = [
  {
    toolCalls: [
      { id: 'call_0', name: 'made_up', args: { q: 'x' } },
      { id: 'call_1', name: 'search', args: { q: 'bags' } },
    ],
  },
  { content: 'done' },
]

const search: ContractRun['tools'][number] = {
  name: 'search',
  description: 'Finds things.',
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
  execute: async ({ q }) => `found ${q}`,
}

type ToolEvent = HookEvent<'beforeToolCall' | 'onToolCallError' | 'afterToolCall'>

async function toldBy(
  subject: ContractSubject,
  stream: ContractRun['stream'],
  rules: readonly MockRule[] = [],
) {
  const dispatcher = new HookDispatcher()
  const mocks = mockTools(dispatcher, rules, { onUnmocked: 'passthrough' })
  const events = eventsOf(dispatcher)
  const run = { dispatcher, agentName: 'contract', prompt: 'go', replies: REPLIES, tools: [search] }
  await subject.run({ ...run, ...(stream && { stream }) }).catch(() => {})
  await dispatcher.drain()
  const calls = events.filter(({ hookType }) => hookType.includes('ToolCall')) as ToolEvent[]
  const of = (name: string) => calls.filter(({ apiName }) => apiName === name)
  const types = (name: string) => of(name).map(({ hookType }) => hookType)
  return { made: of('made_up'), types, last: events.at(-1), mocks }
}

/** What a model makes up is a call that failed, with its arguments and why, on every SDK, whatever it makes of that. */
export function tellMadeUpNames(
  subjects: readonly ContractSubject[],
  {
    runNoOther = [] as readonly string[],
    fail = [] as readonly string[],
    notStreamed = [] as readonly string[],
    listNone = [] as readonly string[],
  } = {},
): void {
  const streams = subjects.filter(
    ({ name, capabilities }) => capabilities.streams && !notStreamed.includes(name),
  )
  const cases = [
    ...subjects.map((subject) => [subject.name, subject, undefined] as const),
    ...streams.map((subject) => [`${subject.name}, streamed`, subject, 'read'] as const),
  ]
  describe('a call of a tool that there is not is told alike on every SDK', () => {
    it.each(cases)('%s', { timeout: 60_000 }, async (_name, subject, stream) => {
      const { made, types, last } = await toldBy(subject, stream)
      expect(types('made_up')).toEqual(['beforeToolCall', 'onToolCallError'])
      const said = { args: { q: 'x' }, toolCallId: 'call_0', stepIndex: 0 }
      for (const call of made) expect(call).toMatchObject(said)
      expect(made[1]).toMatchObject({ errorMessage: expect.stringMatching(/made_up|No tool/) })
      const others = runNoOther.includes(subject.name) ? [] : ['beforeToolCall', 'afterToolCall']
      expect(types('search')).toEqual(others)
      const reason = fail.includes(subject.name) ? 'error' : 'done'
      expect(last).toMatchObject({ hookType: 'onComplete', reason })
    })
  })
  describe('a mock that answers for a tool that there is not fails the test', () => {
    it.each(cases.filter(([, { name }]) => !listNone.includes(name)))(
      '%s',
      { timeout: 60_000 },
      async (_name, subject, stream) => {
        const { mocks } = await toldBy(subject, stream, [mock('made_up').optional().returns('mocked')])
        expect(() => mocks.assertUsed()).toThrow(
          /^A mock (is for .*no agent has|(is for|answered) a call of .*its agent does not have)/,
        )
      },
    )
  })
}
