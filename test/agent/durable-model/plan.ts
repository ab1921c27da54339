import fc from 'fast-check'

/** What is decided beforehand about each tool, by its name. */
export const TOOLS = [
  'plain',
  'keyed',
  'fails',
  'slow',
  'asks',
  'refused',
  'stops',
  'unanswered',
  'denied',
  'skipped',
] as const
export type ToolKind = (typeof TOOLS)[number]

/** A call of a tool, or of another agent; `turns` of the event loop long. A human answers `afterMs` after he is asked. */
export type CallPlan =
  | { readonly kind: ToolKind; readonly turns: number; readonly afterMs: number }
  /** `shared`: the same agent as others of its turn that are, asked for something else. */
  | { readonly kind: 'agent'; readonly agent: AgentPlan; readonly shared?: boolean }

/** What the model says, step by step; then it says what it was told. */
export interface AgentPlan {
  readonly steps: readonly (readonly CallPlan[])[]
}

export interface RunPlan {
  /** `agent`: of execAgent. `loop`: a function, in which an agent is run in a tool. */
  readonly what: 'agent' | 'loop'
  readonly agent: AgentPlan
  readonly limit?: 'maxSteps' | 'maxCostUsd' | 'maxDurationMs' | undefined
  /** The conversation is made shorter on its way. */
  readonly compacts: boolean
  /** As an engine that lets go of the process while a run waits. */
  readonly suspends: boolean
  /** As one that keeps nothing of a run that is cancelled, and begins it nowhere again. */
  readonly forgets: boolean
}

/** How an attempt at the run ends: at its so many-th moment, or never. */
export interface LifePlan {
  /** `loses`: the engine begins another one in the same process, and says so; `is followed`: it does not say so. */
  readonly end: 'dies' | 'loses' | 'is followed' | 'is cancelled'
  readonly moment: number
  /** Before it, while nobody runs it. */
  readonly cancelled?: boolean
}

const turns = fc.nat({ max: 3 })
const afterMs = fc.constantFrom(0, 0, 500, 5_000, 100_000)
const tool = fc.record({ kind: fc.constantFrom(...TOOLS), turns, afterMs })

const agentOf = (depth: number): fc.Arbitrary<AgentPlan> => {
  const call: fc.Arbitrary<CallPlan> =
    depth === 0
      ? tool
      : fc.oneof(
          { weight: 4, arbitrary: tool },
          {
            weight: 1,
            arbitrary: fc.record({
              kind: fc.constant('agent' as const),
              agent: agentOf(depth - 1),
              // One that has agents itself is another one each time.
              ...(depth === 1 && { shared: fc.boolean() }),
            }),
          },
        )
  const calls = fc.array(call, { minLength: 1, maxLength: depth === 2 ? 4 : 3 })
  return fc.record({ steps: fc.array(calls, { minLength: depth === 2 ? 1 : 0, maxLength: depth + 1 }) })
}

export const runPlan: fc.Arbitrary<RunPlan> = fc.record({
  what: fc.constantFrom('agent' as const, 'loop' as const),
  agent: agentOf(2),
  limit: fc.constantFrom(undefined, undefined, undefined, 'maxSteps', 'maxCostUsd', 'maxDurationMs'),
  compacts: fc.boolean(),
  suspends: fc.boolean(),
  forgets: fc.boolean(),
})

export const livesPlan: fc.Arbitrary<LifePlan[]> = fc.array(
  fc.record({
    end: fc.constantFrom('dies', 'dies', 'dies', 'loses', 'is followed', 'is cancelled'),
    moment: fc.nat({ max: 150 }),
    cancelled: fc.constantFrom(false, false, false, false, false, true),
  }),
  { maxLength: 6, size: 'max' },
)
