import { HookDispatcher } from 'hookspan'
import { requireApproval } from 'hookspan/gates'
import { human, match, mock, mockTools, scriptedApprovals } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { runTools, thrownBy } from './support/run-tools.ts'

function setup(options: { timeoutMs?: number } = { timeoutMs: 30 }) {
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'gate',
    gates: [{ id: 'ask', point: 'beforeToolCall', decide: () => requireApproval(options) }],
  })
  const mocks = mockTools(dispatcher, [mock('refund').calls((args) => args)])
  return { dispatcher, mocks }
}
const refund = (amount: number) => ({ apiName: 'refund', args: { amount } })

describe('a scripted human', () => {
  it('approves, rejects with a reason, edits arguments and times out', async () => {
    const { dispatcher } = setup()
    using humans = scriptedApprovals(dispatcher, [
      human('refund')
        .when({ amount: match.lte(10) })
        .approves(),
      human('refund').rejects('too much'),
      human('refund').edits({ amount: 1 }),
      human('ref*').edits((args: { amount: number }) => ({ amount: args.amount / 2 })),
      human('refund').timesOut(),
    ])
    const outcomes = await runTools(dispatcher, [20, 20, 10, 20, 20].map(refund))
    expect(outcomes).toMatchObject([
      { state: 'rejected', code: 'rejected', reason: 'too much' },
      { state: 'mocked', result: { amount: 1 } },
      { state: 'mocked', result: { amount: 10 } },
      { state: 'mocked', result: { amount: 10 } },
      { state: 'denied', code: 'approval_timeout' },
    ])
    expect(humans.requests.map(({ args }) => args)).toEqual(
      [20, 20, 10, 20, 20].map((amount) => ({ amount })),
    )
  })

  it('may end the run, say who it is, and take its time', async () => {
    const { dispatcher } = setup({})
    using _humans = scriptedApprovals(dispatcher, [
      human('refund').by('anna').delays(15).rejects('stop it', { stop: true }),
    ])
    const answers: unknown[] = []
    dispatcher.use({
      name: 'log',
      hooks: [{ id: 'a', type: 'onStopByHumanIntervention', handler: (event) => void answers.push(event) }],
    })
    const [outcome] = await runTools(dispatcher, [refund(1)])
    expect(outcome).toMatchObject({ state: 'rejected', stop: true })
    expect(answers).toMatchObject([{ approver: 'anna', rejectionReason: 'stop it' }])
    expect((answers[0] as { waitedMs: number }).waitedMs).toBeGreaterThan(12)
  })

  it('denies what is not in the script, and fails the test', async () => {
    const { dispatcher, mocks } = setup()
    const humans = scriptedApprovals(dispatcher, [human('refund').when({ amount: 5 }).approves()])
    const [outcome] = await runTools(dispatcher, [refund(7)])
    expect(outcome).toMatchObject({ state: 'denied', code: 'approval_error' })
    const failure = thrownBy(() => humans[Symbol.dispose]())
    expect(failure.code).toBe('MOCKS_FAILED')
    expect(failure.message).toContain('human("refund").approves(…): args.amount: expected 5, got 7')
    expect(failure.message).toContain('A scripted human was not asked')
    mocks.detach()
  })

  it('fails the test when a function of it throws, also of one that is used up', async () => {
    const { dispatcher, mocks } = setup()
    const first = ({ amount }: { amount: number }) => {
      if (amount !== 1) throw new Error('not the first')
      return true
    }
    const humans = scriptedApprovals(dispatcher, [human('refund').when(first).approves()])
    await runTools(dispatcher, [refund(1), refund(2)])
    expect(thrownBy(() => humans.assertUsed()).message).toContain('its when() threw: not the first')
    humans.add(human('refund').when(first).approves())
    await runTools(dispatcher, [refund(3)])
    expect(thrownBy(() => humans[Symbol.dispose]()).message).toMatch(
      /^The `when` function of human\("refund"\).*threw: not the first\n {2}asked {4}refund\({"amount":3}\)$/,
    )
    mocks.detach()
  })

  it('cannot time out where the question never expires', async () => {
    const { dispatcher, mocks } = setup({})
    const humans = scriptedApprovals(dispatcher, [human('refund').timesOut()])
    const [outcome] = await runTools(dispatcher, [refund(7)])
    expect(outcome?.state).toBe('denied')
    expect(() => humans.assertUsed()).toThrow('never expires')
    mocks.detach()
  })

  it.each([
    [() => human(''), 'Expected human() to get a tool'],
    [() => human('a').approves().rejects('x'), 'has a reply already'],
    [() => human('a').times(0), 'whole number >= 1'],
    [() => scriptedApprovals(new HookDispatcher(), [human('a')]), 'has no reply'],
    [() => scriptedApprovals(new HookDispatcher(), [{} as never]), 'Expected an answer made by human()'],
  ])('is refused where it is written wrong (%#)', (make, message) => {
    expect(make).toThrow(message)
  })
})

it('answers for a tool by its home', async () => {
  const { dispatcher } = setup()
  using _humans = scriptedApprovals(dispatcher, [human('bank/*').rejects('no'), human('refund').approves()])
  const outcomes = await runTools(dispatcher, [{ ...refund(1), identifier: 'bank' }, refund(1)])
  expect(outcomes).toMatchObject([{ state: 'rejected' }, { state: 'mocked' }])
})
