import fc from 'fast-check'
import { type HookDispatcher, type Operation, ToolResult } from 'hookspan'
import { deny, requireApproval, skip } from 'hookspan/gates'
import type { RepeatedRun } from 'hookspan/vitest'
import { someArgs } from '../../mock/model/expected.ts'

export const TOOLS = ['find', 'find_all', 'book'] as const
export const HOMES = ['local', 'shop'] as const
export const CODES = ['too_dear', 'policy_denied'] as const
export const APPROVERS = ['anna', 'ben'] as const

const FATES = [
  'completes',
  'reports a failure',
  'throws',
  'is mocked',
  'is mocked to throw',
  'is denied',
  'is skipped',
  'is approved',
  'is edited',
  'is rejected',
  'is not answered',
  'waits',
] as const
type Fate = (typeof FATES)[number]

export interface CallPlan {
  readonly tool: string
  readonly home: string
  readonly args: object
  readonly fate: Fate
  readonly code: string
  readonly approver: string
  readonly bySubAgent: boolean
  readonly inStep: boolean
  /** Real models repeat ids. */
  readonly toolCallId: string | undefined
  readonly slow: boolean
}

export interface RunPlan {
  /** What is made at once, and then the next. */
  readonly batches: readonly (readonly CallPlan[])[]
  readonly end: 'complete' | 'fail' | 'park'
}

const callPlan: fc.Arbitrary<CallPlan> = fc.record({
  tool: fc.constantFrom(...TOOLS),
  home: fc.constantFrom(...HOMES),
  args: someArgs as fc.Arbitrary<object>,
  fate: fc.constantFrom('completes', 'completes', ...FATES),
  code: fc.constantFrom(...CODES),
  approver: fc.constantFrom(...APPROVERS),
  bySubAgent: fc.boolean(),
  inStep: fc.boolean(),
  toolCallId: fc.constantFrom('same', undefined),
  slow: fc.boolean(),
})

/** One or two runs at once. What waits for a human parks its run. */
export const runPlans: fc.Arbitrary<readonly RunPlan[]> = fc.array(
  fc
    .record({
      batches: fc.array(fc.array(callPlan, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
      end: fc.constantFrom<RunPlan['end']>('complete', 'complete', 'fail', 'park'),
    })
    .map(({ batches, end }): RunPlan => {
      const made = batches.map((batch) =>
        batch.map((call) => (call.fate === 'waits' ? { ...call, bySubAgent: false, inStep: false } : call)),
      )
      return { batches: made, end: made.flat().some(({ fate }) => fate === 'waits') ? 'park' : end }
    }),
  { minLength: 1, maxLength: 2 },
)

/** A call as whoever made it knows it. */
export interface KnownCall {
  readonly run: number
  readonly agent: string
  readonly name: string
  readonly identifier: string
  readonly args: unknown
  readonly outcome: string
  readonly result?: unknown
  /** What the model was told, where that is not the result. */
  readonly told?: string
  readonly code?: string
  readonly reason?: string
}

export interface KnownQuestion {
  readonly run: number
  readonly agent: string
  readonly tool: string
  readonly identifier: string
  readonly action?: string
  readonly approver?: string
}

export interface Played {
  readonly calls: KnownCall[]
  readonly questions: KnownQuestion[]
  readonly operationIds: string[]
}

const soon = () => new Promise((resolve) => setImmediate(resolve))

/** Makes the runs, and notes what came of each call. */
export async function play({ dispatcher }: RepeatedRun, plans: readonly RunPlan[]): Promise<Played> {
  const fates = new Map<number, CallPlan>()
  plug(dispatcher, fates)
  const played: Played = { calls: [], questions: [], operationIds: [] }
  const slots: { calls: KnownCall[]; questions: KnownQuestion[] }[] = []
  const playOne = async ({ batches, end }: RunPlan, run: number) => {
    const root = dispatcher.startOperation({ agentName: 'root' })
    played.operationIds[run] = root.operationId
    const helper = dispatcher.startOperation({ agentName: 'helper', parent: root.asParent() })
    for (const batch of batches) {
      const made = batch.map((plan) => {
        const n = fates.size
        fates.set(n, plan)
        return { plan, n }
      })
      const each = made.map(async ({ plan, n }) => {
        const agent = plan.bySubAgent ? 'helper' : 'root'
        slots[n] = { calls: [known(plan, n, run, agent)], questions: asked(plan, run, agent) }
        await makeCall(plan.bySubAgent ? helper : root, plan, n)
      })
      await Promise.all(each)
    }
    await helper.complete()
    if (end === 'complete') await root.complete()
    else if (end === 'fail') await root.fail(new Error('the run broke'))
    else root.park({ waitingFor: 'human' })
  }
  await Promise.all(plans.map(playOne))
  for (const slot of slots) {
    played.calls.push(...slot.calls)
    played.questions.push(...slot.questions)
  }
  return played
}

async function makeCall(op: Operation, plan: CallPlan, n: number): Promise<void> {
  const call = {
    apiName: plan.tool,
    identifier: plan.home,
    args: { ...plan.args, n },
    ...(plan.toolCallId !== undefined && { toolCallId: plan.toolCallId }),
  }
  const body = async () => {
    if (plan.slow) await soon()
    if (plan.fate === 'throws') throw new Error(`thrown by ${n}`)
    if (plan.fate === 'reports a failure') {
      return new ToolResult({ content: 'no', success: false, data: { real: n } })
    }
    return { real: n }
  }
  if (plan.inStep) await op.step(async (step) => void (await step.toolCall(call, body)))
  else await op.toolCall(call, body)
}

function plug(dispatcher: HookDispatcher, fates: ReadonlyMap<number, CallPlan>): void {
  const planOf = (args: unknown) => fates.get((args as { n: number }).n) as CallPlan
  dispatcher.use({
    name: 'fates',
    gates: [
      {
        id: 'fate',
        point: 'beforeToolCall',
        decide: ({ payload }) => {
          const { fate, code } = planOf(payload)
          if (fate === 'is denied') return deny(`because of ${code}`, { code })
          if (fate === 'is skipped') return skip({ skipped: true })
          if (/approved|edited|rejected|waits/.test(fate)) return requireApproval({})
          return fate === 'is not answered' ? requireApproval({ timeoutMs: 1 }) : undefined
        },
      },
    ],
    hooks: [
      {
        id: 'mocks',
        type: 'beforeToolCall',
        mocks: true,
        handler: (event) => {
          const { fate } = planOf(event.args)
          const { n } = event.args as { n: number }
          if (fate === 'is mocked') event.mock({ content: 'mocked', data: { mocked: n } })
          if (fate === 'is mocked to throw') event.mock({ error: new Error(`mocked ${n}`) })
        },
      },
    ],
    approver: {
      async requestApproval({ args, argsDigest }, { signal }) {
        const { fate, approver, slow } = planOf(args)
        if (slow) await soon()
        const by = { approver, argsDigest }
        if (fate === 'is approved') return { ...by, decision: 'approve' }
        if (fate === 'is edited')
          return { ...by, decision: 'edit', args: { ...(args as object), edited: true } }
        if (fate === 'is rejected') return { ...by, decision: 'reject', reason: `not by ${approver}` }
        if (fate === 'waits') return { decision: 'park' }
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    },
  })
}

function known(plan: CallPlan, n: number, run: number, agent: string): KnownCall {
  const { tool: name, home: identifier, fate, code, approver } = plan
  const args = { ...plan.args, n, ...(fate === 'is edited' && { edited: true }) }
  const call = { run, agent, name, identifier, args }
  switch (fate) {
    case 'reports a failure':
      return { ...call, outcome: 'completed', result: { real: n }, told: 'no' }
    case 'completes':
    case 'is approved':
    case 'is edited':
      return { ...call, outcome: 'completed', result: { real: n } }
    case 'is mocked':
      return { ...call, outcome: 'mocked', result: { mocked: n } }
    case 'throws':
    case 'is mocked to throw':
      return { ...call, outcome: 'errored' }
    case 'is skipped':
      return { ...call, outcome: 'skipped', result: { skipped: true } }
    case 'is denied':
      return { ...call, outcome: 'denied', code, reason: `because of ${code}` }
    case 'is rejected':
      return { ...call, outcome: 'rejected', code: 'rejected', reason: `not by ${approver}` }
    case 'is not answered':
      return { ...call, outcome: 'denied', code: 'approval_timeout', reason: 'nobody answered within 1 ms' }
    case 'waits':
      return { ...call, outcome: 'waiting' }
  }
}

const ACTIONS: Partial<Record<Fate, string>> = {
  'is approved': 'approve',
  'is edited': 'edit',
  'is rejected': 'rejectAndContinue',
  'is not answered': 'timeout',
}

function asked(
  { fate, tool, home: identifier, approver }: CallPlan,
  run: number,
  agent: string,
): KnownQuestion[] {
  const question = { run, agent, tool, identifier }
  if (fate === 'waits') return [question]
  const action = ACTIONS[fate]
  if (action === undefined) return []
  return [{ ...question, action, ...(action !== 'timeout' && { approver }) }]
}
