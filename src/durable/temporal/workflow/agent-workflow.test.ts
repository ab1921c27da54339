import { agentWorkflow, type TemporalWorkflowSdk } from 'hookspan/temporal/workflow'
import { expect, it } from 'vitest'

it.each([undefined, null, 'refunds', { name: 'refunds' }])(
  'refuses %j in the place of the SDK, and says what it wants',
  (sdk) => {
    expect(() => agentWorkflow(sdk as never)).toThrow(/import \* as workflow from '@temporalio\/workflow'/)
  },
)

/** A workflow at its first activity, as signals and queries reach it. test/durable has it on a real Temporal. */
function atItsFirstActivity() {
  const handlers = new Map<unknown, (argument: never) => unknown>()
  const sdk: TemporalWorkflowSdk = {
    workflowInfo: () => ({ workflowType: 'refunds' }),
    proxyActivities: () => ({ 'refunds.segment': () => new Promise(() => {}) }),
    defineSignal: (name) => `signal ${name}`,
    defineQuery: (name) => `query ${name}`,
    setHandler: (definition, handler) => void handlers.set(definition, handler),
    condition: async () => false,
    CancellationScope: { nonCancellable: (work) => work(), current: () => ({ consideredCancelled: false }) },
  }
  void agentWorkflow(sdk)({ prompt: 'Refund order 7' })
  return {
    keep: (attempt: number, position: number, ...values: readonly unknown[]) =>
      handlers.get('signal hookspan kept')?.({ turn: 0, attempt, position, values } as never),
    kept: (from = 0) => handlers.get('query hookspan kept')?.(from as never),
  }
}

it('takes each note once, also where Temporal brings it again, late', () => {
  const { keep, kept } = atItsFirstActivity()
  keep(1, 0, 'a', 'b')
  keep(1, 2, 'c')
  keep(1, 0, 'a', 'b')
  keep(1, 2, 'c')
  expect(kept()).toEqual(['a', 'b', 'c'])
})

it('takes nothing of an attempt that has lost the run, whether it comes after what the next one keeps, or just before', () => {
  const { keep, kept } = atItsFirstActivity()
  keep(1, 0, 'a')
  // The next one has read 'a', and nothing more.
  keep(1, 1, 'lost')
  keep(1, 2, 'lost, too')
  keep(2, 1, 'b')
  keep(1, 2, 'later')
  keep(2, 2, 'c')
  expect(kept()).toEqual(['a', 'b', 'c'])
})

it('gives what it has in pages that Temporal takes, whatever the size of one', () => {
  const { keep, kept } = atItsFirstActivity()
  const large = 'x'.repeat(600_000)
  keep(1, 0, 'a', large, 'b', 'c')
  expect([kept(0), kept(1), kept(2), kept(4)]).toEqual([['a'], [large], ['b', 'c'], []])
})
