import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import {
  type MockRule,
  mock,
  mockTools,
  type ReplayMode,
  readRecording,
  replayTools,
  type ToolRecording,
} from 'hookspan/mock'
import { afterAll, describe, expect, it } from 'vitest'
import { type Call, RealTools, resultOf, runTools, thrownBy } from './support/run-tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-replay-with-mocks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const FIND: Call = { apiName: 'find', args: { id: '7' } }
const REFUND: Call = { apiName: 'refund', args: { id: '7', amount: 20 } }
const NOTIFY: Call = { apiName: 'notify', args: { text: 'refunded' } }
const SORRY: Call = { apiName: 'notify', args: { text: 'sorry' } }

/** Of a run of production: found, refunded, told. */
const recording: ToolRecording = {
  format: 'hookspan-recording',
  version: 1,
  redacted: false,
  tools: { find: {}, refund: {}, notify: {} },
  calls: [
    { agent: 'support', step: 0, tool: 'find', args: { id: '7' }, result: { paid: 40 } },
    { agent: 'support', step: 0, tool: 'refund', args: { id: '7', amount: 20 }, result: { ok: true } },
    { agent: 'support', step: 0, tool: 'notify', args: { text: 'refunded' }, result: 'sent' },
  ],
}

/** The recording, and rules beside it, set up in either order. */
async function both(calls: readonly Call[], rules: readonly MockRule[], first: 'mocks' | 'replay') {
  const dispatcher = new HookDispatcher()
  const real = new RealTools()
  const early = first === 'replay' ? replayTools(dispatcher, { recording }) : undefined
  const mocks = mockTools(dispatcher, rules)
  const replay = early ?? replayTools(dispatcher, { recording })
  const outcomes = await runTools(dispatcher, calls, { real })
  return { outcomes, mocks, replay, real }
}

describe.each(['mocks', 'replay'] as const)('a recording and rules, %s first', (first) => {
  it('answers by the rule that fits, and by the recording what no rule takes', async () => {
    const rules = [mock('refund').fails('the bank is down')]
    const { outcomes, mocks, replay, real } = await both([FIND, REFUND, NOTIFY], rules, first)
    expect(real.ran).toEqual([])
    expect(outcomes.map((outcome) => outcome.toToolMessage().content)).toEqual([
      '{"paid":40}',
      'the bank is down',
      'sent',
    ])
    expect(mocks.calls().map(({ apiName, answeredBy }) => [apiName, answeredBy])).toEqual([
      ['find', 'replay'],
      ['refund', 'mock'],
      ['notify', 'replay'],
    ])
    expect(mocks.coverage()).toMatchObject({ mocked: ['find', 'notify', 'refund'], live: [], refused: [] })
    mocks.assertUsed()
    replay.assertFollowed()
    expect(replay.report()).toEqual({
      recorded: 3,
      served: 2,
      overruled: 1,
      live: 0,
      divergences: [],
      unreached: [],
      drifted: [],
    })
  })

  it('lets the run go another way from there, and says what it did not reach', async () => {
    const rules = [
      mock('refund').throws(new Error('down')),
      mock('notify').when({ text: 'sorry' }).returns(1),
    ]
    const { mocks, replay } = await both([FIND, REFUND, SORRY], rules, first)
    expect(replay.report()).toMatchObject({ served: 1, overruled: 1, divergences: [] })
    expect(replay.report().unreached).toEqual([recording.calls[2]])
    mocks[Symbol.dispose]()
    replay[Symbol.dispose]()
  })

  it('holds the run to the recording until there', async () => {
    const rules = [mock('refund').fails('down')]
    const { replay } = await both([REFUND], rules, first)
    expect(thrownBy(() => replay.assertFollowed()).message).toMatch(/^missing: find\({"id":"7"}\)/)
    expect(replay.report().unreached).toEqual([recording.calls[2]])
  })

  it('fails a call that neither has, and says what came before', async () => {
    const rules = [mock('refund').fails('down')]
    const { outcomes, replay, mocks, real } = await both([FIND, REFUND, SORRY], rules, first)
    expect(outcomes.map(({ state }) => state)).toEqual(['mocked', 'mocked', 'errored'])
    expect(real.ran).toEqual([])
    expect(mocks.calls('notify').map(({ answeredBy }) => answeredBy)).toEqual(['refused'])
    mocks[Symbol.dispose]()
    expect(thrownBy(() => replay[Symbol.dispose]()).message).toBe(
      [
        'changed: notify({"text":"sorry"})  by support, step 0',
        '  recorded notify({"text":"refunded"})  by support, step 0',
        '    args.text: expected "refunded", got "sorry"',
        '  since    mock("refund").fails("down") answered in place of the recording: what is called since and was not recorded needs a mock, too',
      ].join('\n'),
    )
  })

  it('has the recorded answer still, for an agent that tries again', async () => {
    const rules = [mock('refund').once().throws(new Error('down for a moment'))]
    const { outcomes, mocks, replay } = await both([FIND, REFUND, REFUND, NOTIFY], rules, first)
    expect(outcomes.map(({ state }) => state)).toEqual(['mocked', 'errored', 'mocked', 'mocked'])
    expect(resultOf(outcomes[2])).toEqual({ ok: true })
    mocks.assertUsed()
    replay.assertFollowed()
    // Each recorded answer is given once.
    const thrice = await both([FIND, REFUND, REFUND, REFUND], [...rules], first)
    expect(thrown(() => thrice.replay.assertFollowed())).toContain('repeated: refund')
  })

  it('fails a rule that no call was for, and tells who answered', async () => {
    const rules = [mock('refund').when({ amount: 99 }).fails('down')]
    const { mocks, replay } = await both([FIND, REFUND, NOTIFY], rules, first)
    replay.assertFollowed()
    expect(thrownBy(() => mocks.assertUsed()).message).toMatch(
      /was not used: mock\("refund"\)[\s\S]*called {3}refund\(.*answered by replay/,
    )
  })

  it('counts the real tool that a rule lets run', async () => {
    const rules = [mock('refund').passesThrough()]
    const { replay, real, mocks } = await both([FIND, REFUND, NOTIFY], rules, first)
    expect(real.ran).toEqual(['refund'])
    expect(replay.report()).toMatchObject({ served: 2, overruled: 1, live: 1, divergences: [] })
    expect(mocks.coverage().live).toEqual(['refund'])
  })

  it('holds runs of other agents to the recording as before', async () => {
    const dispatcher = new HookDispatcher()
    const two = {
      ...recording,
      calls: [...recording.calls, { agent: 'billing', step: 0, tool: 'find', args: {}, result: 1 }],
    }
    const early = first === 'replay' ? replayTools(dispatcher, { recording: two }) : undefined
    const mocks = mockTools(dispatcher, [mock('support > find').fails('down')])
    const replay = early ?? replayTools(dispatcher, { recording: two })
    await runTools(dispatcher, [FIND])
    expect(replay.report().unreached.map(({ tool }) => tool)).toEqual(['refund', 'notify'])
    expect(thrown(() => replay.assertFollowed())).toMatch(/^missing: find\({}\) {2}by billing/)
    await runTools(dispatcher, [{ apiName: 'find', args: {} }], { agentName: 'billing' })
    replay.assertFollowed()
    mocks.assertUsed()
  })

  it('does not miss what an agent would have called that a rule stands in for', async () => {
    const dispatcher = new HookDispatcher()
    const tree: ToolRecording = {
      ...recording,
      calls: [
        { agent: 'lead', step: 0, tool: 'expert', args: {}, result: 'found' },
        { agent: 'lead', step: 0, tool: 'notify', args: {}, result: 'sent' },
        { agent: 'lead > expert', step: 0, tool: 'find', args: {}, result: 1 },
      ],
    }
    const early = first === 'replay' ? replayTools(dispatcher, { recording: tree }) : undefined
    const mocks = mockTools(dispatcher, [mock('expert').returns('made up')])
    const replay = early ?? replayTools(dispatcher, { recording: tree })
    const op = dispatcher.startOperation({ agentName: 'lead' })
    const outcome = await op.toolCall({ apiName: 'expert', source: 'agent', args: {} }, () =>
      Promise.reject(new Error('it ran')),
    )
    await op.toolCall({ apiName: 'notify', args: {} }, () => 1)
    await op.complete()
    expect(resultOf(outcome)).toBe('made up')
    replay.assertFollowed()
    mocks.assertUsed()
  })

  it('records what no rule takes, and is held to all of it', async () => {
    const file = join(folder, `${first}.json`)
    const rules = () => [mock('refund').returns({ ok: true }), mock('unused').optional().returns(1)]
    const run = async (calls: readonly Call[], mode: ReplayMode) => {
      const dispatcher = new HookDispatcher()
      const real = new RealTools()
      const early = first === 'replay' ? replayTools(dispatcher, { file, mode }) : undefined
      const mocks = mockTools(dispatcher, rules())
      const replay = early ?? replayTools(dispatcher, { file, mode })
      await runTools(dispatcher, calls, { real })
      mocks[Symbol.dispose]()
      return { replay, real }
    }
    const recorded = await run([FIND, REFUND, NOTIFY], 'auto')
    expect(recorded.real.ran).toEqual(['find', 'notify'])
    recorded.replay[Symbol.dispose]()
    expect(readRecording(file).calls.map(({ tool }) => tool)).toEqual(['find', 'notify'])

    const replayed = await run([FIND, REFUND, NOTIFY], 'auto')
    expect(replayed.real.ran).toEqual([])
    expect(replayed.replay.report()).toMatchObject({ served: 2, overruled: 0 })
    replayed.replay.assertFollowed()

    const shorter = await run([FIND, REFUND], 'auto')
    expect(thrown(() => shorter.replay.assertFollowed())).toMatch(/^missing: notify/)
  })
})

it('is strict again when the recording is taken out', async () => {
  const dispatcher = new HookDispatcher()
  using mocks = mockTools(dispatcher, [mock('refund').optional().fails('down')])
  const replay = replayTools(dispatcher, { recording })
  replay.detach()
  const real = new RealTools()
  await runTools(dispatcher, [FIND], { real })
  expect(real.ran).toEqual([])
  expect(thrown(() => mocks.assertUsed())).toContain('"find" was called, and no mock fits')
})

function thrown(fn: () => void): string {
  return thrownBy(fn).message
}
