import type { ContractReply, ContractSubject } from 'hookspan/adapter/contract'
import { type MockRule, mock, mockTools, recordTools, replayTools, type ToolRecording } from 'hookspan/mock'
import { expect, type RepeatedRun, repeatRuns } from 'hookspan/vitest'
import { describe, it } from 'vitest'

const parameters = {
  type: 'object',
  properties: { q: { type: 'string' } },
  required: ['q'],
  additionalProperties: false,
}

const call = (id: string, name: string, q: string) => ({ id, name, args: { q } })
const FIND = call('call_1', 'find', '7')
const REFUND = call('call_2', 'refund', '20')
const TOLD = call('call_3', 'tell', 'refunded')
const SORRY = call('call_4', 'tell', 'sorry')
const turns = (...calls: (typeof FIND)[]): ContractReply[] => [
  ...calls.map((one) => ({ toolCalls: [one] })),
  { content: 'done' },
]

async function drive(
  subject: ContractSubject,
  { dispatcher }: Pick<RepeatedRun, 'dispatcher'>,
  replies: ContractReply[],
) {
  const ran: string[] = []
  const tools = ['find', 'refund', 'tell'].map((name) => ({
    name,
    description: 'A tool.',
    parameters,
    execute: async ({ q }: { q: string }) => {
      ran.push(name)
      return `real ${q}`
    },
  }))
  const outcome = await subject.run({ dispatcher, agentName: 'contract', prompt: 'Go.', tools, replies })
  await dispatcher.drain()
  expect(outcome.status).toMatch(subject.endsOnFailure ? /^(done|error)$/ : /^done$/)
  return ran
}

/** What was recorded is replayed, but one tool fails: each subject the same. */
export function replayWithMocksAlike(subjects: readonly ContractSubject[]): void {
  describe.each(subjects)('a recording beside mocks: $name', (subject) => {
    let recording: ToolRecording

    /** A test in which the recording and the mocks answer, and what it says at its end. */
    const replayed = async (
      replies: ContractReply[],
      rules: MockRule[],
      look: (ran: string[], kit: RepeatedRun) => void,
    ) => {
      const report = await repeatRuns(1, async (kit) => {
        const replay = replayTools(kit.dispatcher, { recording })
        using _mocks = mockTools(kit.dispatcher, rules)
        look(await drive(subject, kit, replies), kit)
        replay[Symbol.dispose]()
      })
      return report.failures[0]?.error.message
    }

    it('records', async () => {
      await repeatRuns(1, async (kit) => {
        using recorder = recordTools(kit.dispatcher)
        expect(await drive(subject, kit, turns(FIND, REFUND, TOLD))).toEqual(['find', 'refund', 'tell'])
        recording = recorder.recording()
      })
      expect(recording.calls.map(({ tool }) => tool)).toEqual(['find', 'refund', 'tell'])
    })

    it('lets one tool fail, and goes another way', async () => {
      const rules = [
        mock('refund').fails('the bank is down'),
        mock('tell').when({ q: 'sorry' }).returns('sent'),
      ]
      const failure = await replayed(turns(FIND, REFUND, SORRY), rules, (ran, { trace }) => {
        expect(ran).toEqual([])
        expect(trace).toMatchTrajectory([
          { name: 'find', result: recording.calls[0]?.result },
          { name: 'refund', result: 'the bank is down' },
          { name: 'tell', args: { q: 'sorry' }, result: 'sent' },
        ])
        const tools = trace.spans.filter(({ name }) => name.startsWith('execute_tool'))
        const sources = tools.map(({ attributes }) => attributes['hookspan.mock.source'])
        expect(sources).toEqual(['replay', 'mock', 'mock'])
      })
      expect(failure).toBeUndefined()
    })

    it('has the recorded answer for what is tried again', async () => {
      const rules = [mock('refund').once().fails('down for a moment')]
      const again = { ...REFUND, id: 'call_5' }
      const failure = await replayed(turns(FIND, REFUND, again, TOLD), rules, (ran, { trace }) => {
        expect(ran).toEqual([])
        expect(trace).toHaveCalledTool('refund', undefined, { times: 1, result: recording.calls[1]?.result })
      })
      expect(failure).toBeUndefined()
    })

    it('fails what neither has', async () => {
      const failure = await replayed(turns(FIND, REFUND, SORRY), [mock('refund').fails('down')], (ran) =>
        expect(ran).toEqual([]),
      )
      expect(failure).toMatch(
        /^changed: tell\({"q":"sorry"}\)[\s\S]*since {4}mock\("refund"\)\.fails\("down"\)/,
      )
    })
  })
}
